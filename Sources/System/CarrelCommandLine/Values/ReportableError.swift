// SPDX-License-Identifier: Apache-2.0

/// An error that knows how to be told on a terminal. Any other error is told by its description and ends with status 1.
package protocol ReportableError: Error {
    /// The failure in words: a lower-case sentence without a period; never a secret.
    var message: String { get }
    /// The remedy, where it is known.
    var hint: String? { get }
    /// How the program ends.
    var exitStatus: ExitStatus { get }
    /// The code of an error that another program reported; nil for errors with a code of their own, and without one.
    var reportedCode: String? { get }
}

extension ReportableError {
    package var hint: String? { nil }
    package var exitStatus: ExitStatus { .failure }
    package var reportedCode: String? { nil }
}
