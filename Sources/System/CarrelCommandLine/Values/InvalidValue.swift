// SPDX-License-Identifier: Apache-2.0

/// Why a written value was refused.
package struct InvalidValue: Error, Equatable {
    /// The end of a sentence that begins with the value, such as "is not a whole number". Never the value itself, which may be secret.
    package let reason: String
    /// The text to write instead, where that is known.
    package let hint: String?

    package init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }
}
