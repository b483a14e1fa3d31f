// SPDX-License-Identifier: Apache-2.0

/// The allowed values of an option or setting.
package struct Allowed<Value: Sendable>: Sendable {
    /// The allowed values, for help; nil if all are.
    package let explanation: String?
    private let problem: @Sendable (Value) -> String?

    /// Every value of the type.
    package static var everything: Allowed { Allowed(explanation: nil) { _ in nil } }

    /// Allows values for which `test` is true.
    ///
    /// - Parameters:
    ///   - explanation: the description of the values, such as "a power of two".
    ///   - test: whether a value is allowed.
    /// - Returns: the rule.
    package static func only(_ explanation: String, where test: @escaping @Sendable (Value) -> Bool) -> Allowed {
        Allowed(explanation: explanation) { test($0) ? nil : "is not \(explanation)" }
    }

    private init(explanation: String?, problem: @escaping @Sendable (Value) -> String?) {
        self.explanation = explanation
        self.problem = problem
    }

    /// Throws when the value is not allowed.
    package func check(_ value: Value) throws(InvalidValue) {
        if let reason = problem(value) { throw InvalidValue(reason) }
    }
}

extension Allowed where Value: TextValue & Comparable {
    /// Values from `range.lowerBound` to `range.upperBound`, both included.
    package static func range(_ range: ClosedRange<Value>) -> Allowed {
        let text = "\(range.lowerBound.written) to \(range.upperBound.written)"
        return Allowed(explanation: text) { range.contains($0) ? nil : "is not in the range \(text)" }
    }

    /// Values from `lowest` on.
    package static func atLeast(_ lowest: Value) -> Allowed {
        Allowed(explanation: "at least \(lowest.written)") { $0 >= lowest ? nil : "is less than \(lowest.written)" }
    }
}
