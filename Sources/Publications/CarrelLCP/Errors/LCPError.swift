// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// An error of Readium LCP: a stable code, and a message for people.
///
/// Two errors are equal when their codes are. Codes and messages never contain a passphrase, a key, or the name or address of a
/// user.
public struct LCPError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<LCPError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// The server's own words.
    public let problem: LicenseProblem?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period; no passphrase, key, or name of a user.
    ///   - problem: the problem document of a license server.
    public init(_ code: Code, _ message: String, problem: LicenseProblem? = nil) {
        self.code = code
        self.message = message
        self.problem = problem
    }
}

extension ErrorCode where Failure == LCPError {
    /// The license document is none.
    public static var malformedLicense: Self { Self("lcp.license") }
    /// The publication is encrypted, and there is no license in it.
    public static var noLicense: Self { Self("lcp.no-license") }
    /// The status document is none.
    public static var malformedStatus: Self { Self("lcp.status") }
    /// The license follows a profile that is not registered here, or whose registered function makes no key of 32 bytes.
    public static var unsupportedProfile: Self { Self("lcp.profile") }
    /// The license was changed after it was signed, or not signed by its certificate.
    public static var signature: Self { Self("lcp.signature") }
    /// The provider's certificate leads to no root that is trusted, or was not valid when the license was issued.
    public static var certificate: Self { Self("lcp.certificate") }
    /// The provider's certificate was taken back.
    public static var certificateRevoked: Self { Self("lcp.certificate-revoked") }
    /// A passphrase is needed, and none was given.
    public static var passphraseRequired: Self { Self("lcp.passphrase-required") }
    /// The passphrase that was given is wrong.
    public static var passphrase: Self { Self("lcp.passphrase") }
    /// The user canceled the passphrase prompt.
    public static var cancelled: Self { Self("lcp.cancelled") }
    /// The passphrase is right, and the content key is none.
    public static var contentKey: Self { Self("lcp.content-key") }
    /// The time from which the license is good has not come.
    public static var notStarted: Self { Self("lcp.not-started") }
    /// The license has ended.
    public static var expired: Self { Self("lcp.expired") }
    /// The provider revoked the license.
    public static var revoked: Self { Self("lcp.revoked") }
    /// The loan was returned.
    public static var returned: Self { Self("lcp.returned") }
    /// The provider cancelled the loan before it was used.
    public static var loanCancelled: Self { Self("lcp.loan-cancelled") }
    /// The server reports a status that is not known here.
    public static var unknownStatus: Self { Self("lcp.unknown-status") }
    /// A newer license took its place.
    public static var superseded: Self { Self("lcp.superseded") }
    /// The license or its status offers no such interaction.
    public static var notOffered: Self { Self("lcp.not-offered") }
    /// The server refused; its words are in ``LCPError/problem``.
    public static var refused: Self { Self("lcp.refused") }
    /// The server cannot be reached, or does not answer as it should.
    public static var unavailable: Self { Self("lcp.unavailable") }
    /// The store on this device cannot be read or written.
    public static var store: Self { Self("lcp.store") }
}
