// SPDX-License-Identifier: Apache-2.0

/// The reason for refusing a value.
package struct InvalidValue: Error, Equatable {
    /// The end of a sentence that begins with the value, such as "is not a whole number". Never the value itself, which may be secret.
    package let reason: String
    /// The text to write instead, if known.
    package let hint: String?

    package init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }
}
