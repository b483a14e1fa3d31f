// SPDX-License-Identifier: Apache-2.0

/// The result of a finished process.
package struct ProcessResult: Sendable {
    package let status: ExitStatus
    /// Standard output, whole.
    package let output: [UInt8]
    /// Standard error, whole.
    package let errors: [UInt8]

    /// Standard output as text; bytes that are not UTF-8 are replaced.
    package var text: String { String(decoding: output, as: UTF8.self) }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    package var errorText: String { String(decoding: errors, as: UTF8.self) }
}
