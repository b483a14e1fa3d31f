// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The identity of a source: SHA-256 over a file, or over the names and the digests of a folder's files in order.
struct SourceHash {
    private let total: Int64
    private let progress: (IngestProgress) throws -> Void
    private var byteCount: Int64 = 0
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

    /// Whether the file named `a` comes before `b` in the hash of a folder: runs of digits count as numbers.
    ///
    /// Stored hashes depend on it, so the rule must not change; the playing order is `NaturalOrder`'s.
    static func counts(_ a: String, before b: String) -> Bool {
        var (left, right) = (Substring(a.lowercased()), Substring(b.lowercased()))
        while let x = left.first, let y = right.first {
            if x.isASCII, x.isNumber, y.isASCII, y.isNumber {
                let (m, n) = (left.prefix { $0.isASCII && $0.isNumber }, right.prefix { $0.isASCII && $0.isNumber })
                let (p, q) = (m.drop { $0 == "0" }, n.drop { $0 == "0" })
                if p.count != q.count { return p.count < q.count }
                if p != q { return p < q }
                left = left.dropFirst(m.count)
                right = right.dropFirst(n.count)
            } else {
                if x != y { return x < y }
                left = left.dropFirst()
                right = right.dropFirst()
            }
        }
        return left.isEmpty ? !right.isEmpty || a < b : false
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
            byteCount += Int64(window.byteCount)
            try progress(IngestProgress(phase: .hashing, done: byteCount, total: total))
        }
        return hash.finish()
    }
}
