// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A command line that does not say what to do: an unknown word, a missing or impossible value.
package struct UsageError: CodedError, ReportableError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<UsageError>

    /// The kind of mistake; errors are equal when it is.
    package let code: Code
    package let message: String
    package let hint: String?

    /// - Parameters:
    ///   - code: the kind of mistake.
    ///   - message: a lower-case sentence without a period; never a secret.
    ///   - hint: the text to write instead; by default a reference to the command's help.
    package init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    package var exitStatus: ExitStatus { .usage }
}

extension ErrorCode where Failure == UsageError {
    /// No command has this name.
    package static var unknownCommand: Self { Self("usage.unknown-command") }
    /// A group of commands was called without one of them.
    package static var missingCommand: Self { Self("usage.missing-command") }
    /// The command has no such option.
    package static var unknownOption: Self { Self("usage.unknown-option") }
    /// An option that counts once is written twice.
    package static var repeatedOption: Self { Self("usage.repeated-option") }
    /// An option that takes a value has none.
    package static var missingValue: Self { Self("usage.missing-value") }
    /// A flag was given a value.
    package static var unexpectedValue: Self { Self("usage.unexpected-value") }
    /// A value is not one of its type, or not allowed.
    package static var badValue: Self { Self("usage.bad-value") }
    /// Something that must be written is not.
    package static var missingArgument: Self { Self("usage.missing-argument") }
    /// A word is left over.
    package static var unexpectedArgument: Self { Self("usage.unexpected-argument") }
    /// Two parameters cannot both be meant.
    package static var contradiction: Self { Self("usage.contradiction") }
}
