import Glibc

/// Why something could not be taken into the catalog.
package struct IngestError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure; its raw value is the same in logs, HTTP problems, the command line and the documentation.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The path cannot be read.
        package static let unreadable = Code(rawValue: "ingest.unreadable")
        package static let empty = Code(rawValue: "ingest.empty")
        package static let notAudio = Code(rawValue: "ingest.not-audio")
        /// Neither EPUB nor PDF nor pages of HTML.
        package static let notEdition = Code(rawValue: "ingest.not-edition")
        /// The end is missing; `hint` says how much is usable.
        package static let truncated = Code(rawValue: "ingest.truncated")
        /// The file is protected by a technology that only its maker can remove.
        package static let protected = Code(rawValue: "ingest.protected")
        /// Neither the source nor the caller says its title.
        package static let untitled = Code(rawValue: "ingest.untitled")
        package static let malformed = Code(rawValue: "ingest.malformed")
        /// An archive with dangerous names or sizes.
        package static let archive = Code(rawValue: "ingest.archive")
        /// ffmpeg is missing or failed.
        package static let transcoder = Code(rawValue: "ingest.transcoder")
        package static let full = Code(rawValue: "ingest.full")
        /// The folder for temporary files cannot be used.
        package static let scratch = Code(rawValue: "ingest.scratch")
    }

    package let code: Code
    /// The file or archive entry, as the caller named it.
    package let path: String
    /// A lower-case sentence without a period.
    package let detail: String
    /// What to do about it, if there is something.
    package let hint: String?

    package init(_ code: Code, _ path: String, _ detail: String, hint: String? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.hint = hint
    }

    /// What the system's last error means for a temporary file.
    init(scratch path: String) {
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        self.init(isFull ? .full : .scratch, path, "cannot be written: \(systemReason(number))")
    }

    package static func == (a: Self, b: Self) -> Bool { a.code == b.code && a.path == b.path }

    package var description: String { "\(path): \(detail)" }
}
