import CarrelBytes
import CarrelCrypto

/// What tells one source from another: SHA-256 over a file, or over the names and the digests of a folder's files in order.
struct SourceHash {
    private let total: Int64
    private let progress: (IngestProgress) throws -> Void
    private var done: Int64 = 0
    private var lines: [UInt8] = []

    /// - Parameters:
    ///   - total: bytes of the source; 0 when unknown.
    ///   - progress: called every megabyte or so; throwing stops.
    init(total: Int64, progress: @escaping (IngestProgress) throws -> Void) {
        self.total = total
        self.progress = progress
    }

    /// The hash of a source that is one file.
    static func of(_ file: SourceFile, progress: @escaping (IngestProgress) throws -> Void) throws -> [UInt8] {
        var hash = Self(total: file.size, progress: progress)
        return try hash.digest(of: file)
    }

    /// Adds the next file of a folder.
    mutating func add(_ file: SourceFile) throws {
        lines += Array("\(file.name)\n".utf8) + (try digest(of: file))
        file.rest()
    }

    /// The hash of the folder whose files were added.
    func finish() -> [UInt8] { SHA256.hash(lines.rawSpan) }

    private mutating func digest(of file: SourceFile) throws -> [UInt8] {
        var hash = SHA256.Stream()
        try file.forEachWindow { window in
            hash.update(window)
            done += Int64(window.byteCount)
            try progress(IngestProgress(phase: .hashing, done: done, total: total))
        }
        return hash.finish()
    }
}
