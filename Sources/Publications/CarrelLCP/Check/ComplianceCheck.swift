// SPDX-License-Identifier: Apache-2.0

/// One check of the public compliance tests of LCP, and its result for a license or a publication.
public struct ComplianceCheck: Sendable, Equatable {
    /// A dotted name that never changes, such as `license.signature`.
    public let name: String
    /// The result of the check.
    public let outcome: Outcome

    /// The result of a check.
    public enum Outcome: Sendable, Equatable {
        /// The license or publication meets the requirement.
        case passed
        /// The check failed; the reason is a lower-case sentence without passphrases, keys or names of users.
        case failed(String)
        /// The check was skipped, for this reason.
        case skipped(String)
    }

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - name: a dotted name, such as `license.signature`.
    ///   - outcome: the result.
    public init(_ name: String, _ outcome: Outcome) {
        self.name = name
        self.outcome = outcome
    }
}

/// Collects the results of checks.
struct ComplianceReport {
    private(set) var checks: [ComplianceCheck] = []

    /// - Parameters:
    ///   - name: the check's name.
    ///   - failure: the reason of the failure; nil if it passed.
    mutating func add(_ name: String, _ failure: String?) {
        checks.append(ComplianceCheck(name, failure.map { .failed($0) } ?? .passed))
    }

    mutating func skip(_ name: String, _ reason: String) {
        checks.append(ComplianceCheck(name, .skipped(reason)))
    }
}
