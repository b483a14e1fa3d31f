// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelFiles
import Glibc

/// The reason why a source could not be ingested.
package struct IngestError: CodedError {
    /// The kinds of this failure.
    package typealias Code = ErrorCode<IngestError>

    /// The kind of failure.
    package let code: Code
    /// The file or archive entry, as the caller named it.
    package let path: String
    /// The fault: the rest of a lower-case sentence that begins with the path.
    package let reason: String
    /// The remedy, if any.
    package let hint: String?

    package init(_ code: Code, _ path: String, _ reason: String, hint: String? = nil) {
        self.code = code
        self.path = path
        self.reason = reason
        self.hint = hint
    }

    /// The error for the system's last failure with a temporary file.
    init(scratch path: String) {
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        self.init(isFull ? .full : .scratch, path, "cannot be written: \(systemReason(number))")
    }

    package static func == (a: Self, b: Self) -> Bool { a.code == b.code && a.path == b.path }

    package var message: String { "\(path): \(reason)" }

    package var description: String { message }
}

extension ErrorCode where Failure == IngestError {
    /// The path cannot be read.
    package static var unreadable: Self { Self("ingest.unreadable") }
    package static var empty: Self { Self("ingest.empty") }
    package static var notAudio: Self { Self("ingest.not-audio") }
    /// Neither EPUB nor PDF nor pages of HTML.
    package static var notEdition: Self { Self("ingest.not-edition") }
    /// The end is missing; `hint` says how much is usable.
    package static var truncated: Self { Self("ingest.truncated") }
    /// The file is protected by a technology that only its maker can remove.
    package static var protected: Self { Self("ingest.protected") }
    /// Neither the source nor the caller says its title.
    package static var untitled: Self { Self("ingest.untitled") }
    package static var malformed: Self { Self("ingest.malformed") }
    /// An archive with dangerous names or sizes.
    package static var archive: Self { Self("ingest.archive") }
    /// ffmpeg is missing or failed.
    package static var transcoder: Self { Self("ingest.transcoder") }
    package static var full: Self { Self("ingest.full") }
    /// The folder for temporary files cannot be used.
    package static var scratch: Self { Self("ingest.scratch") }
}
