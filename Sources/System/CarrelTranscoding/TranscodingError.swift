// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A failure of an ffmpeg program: a stable code, and a message for people.
///
/// Errors are equal if their codes are.
package struct TranscodingError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<TranscodingError>

    /// The kind of failure.
    package let code: Code
    /// A lower-case sentence without a period; of a refusal what the program said last.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode where Failure == TranscodingError {
    /// The program is not installed.
    package static var notInstalled: Self { Self("transcoding.not-installed") }
    /// The kernel cannot confine the program.
    package static var notConfined: Self { Self("transcoding.not-confined") }
    /// The program cannot be run, or its output not read.
    package static var failed: Self { Self("transcoding.failed") }
    /// The program took too long.
    package static var timeout: Self { Self("transcoding.timeout") }
    /// The program refused the file.
    package static var refused: Self { Self("transcoding.refused") }
}
