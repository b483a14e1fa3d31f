// SPDX-License-Identifier: Apache-2.0

/// An error with a message for a terminal. Other errors are printed by their description and exit with status 1.
package protocol ReportableError: Error {
    /// The failure in words: a lower-case sentence without a period; never a secret.
    var message: String { get }
    /// The remedy, if known.
    var hint: String? { get }
    /// The exit status of the program.
    var exitStatus: ExitStatus { get }
    /// The code of an error that another program reported; nil for errors with their own code or without a code.
    var reportedCode: String? { get }
}

extension ReportableError {
    package var hint: String? { nil }
    package var exitStatus: ExitStatus { .failure }
    package var reportedCode: String? { nil }
}
