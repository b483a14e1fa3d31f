// SPDX-License-Identifier: Apache-2.0

/// An example command line and its explanation.
package struct Example: Sendable, Equatable {
    /// The line without a prompt, such as `carrel ingest book.m4b`.
    package let line: String
    /// A summary in one sentence.
    package let explanation: String

    package init(_ line: String, _ explanation: String) {
        self.line = line
        self.explanation = explanation
    }
}
