// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``TranscodingError``.
package enum TranscodingErrorDomain: ErrorDomain {}

/// Why a program of ffmpeg did not do its work: a stable code, and words for a person.
package typealias TranscodingError = CodedFailure<TranscodingErrorDomain>

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
