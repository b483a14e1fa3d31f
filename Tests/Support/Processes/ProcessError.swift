// SPDX-License-Identifier: Apache-2.0

/// A process that could not be run to its end as asked.
package struct ProcessError: Error, Equatable, CustomStringConvertible {
    /// Which failure, as a stable dotted identifier.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The system refused to start it.
        package static let notStarted = Code(rawValue: "process.notStarted")
        /// It was still running when its time was up.
        package static let timeout = Code(rawValue: "process.timeout")
        /// It wrote more than the limit.
        package static let tooMuchOutput = Code(rawValue: "process.tooMuchOutput")
        /// It ended before it did what was waited for.
        package static let ended = Code(rawValue: "process.ended")
        /// The waiting task was cancelled.
        package static let cancelled = Code(rawValue: "process.cancelled")
    }

    package let code: Code
    /// A lower-case sentence without a period: which program, and what it last wrote.
    package let description: String

    /// - Parameters:
    ///   - code: all that equality compares.
    ///   - description: a lower-case sentence without a period.
    package init(_ code: Code, _ description: String = "") {
        self.code = code
        self.description = description
    }

    package static func == (a: ProcessError, b: ProcessError) -> Bool { a.code == b.code }
}
