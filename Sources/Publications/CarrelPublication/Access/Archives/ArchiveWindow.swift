// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelThreads

/// The parts of an archive that were fetched, for a synchronous parser; remembers the first missing range.
struct ArchiveWindow: ArchiveSource {
    let length: Int64
    private var parts: [(range: Range<Int64>, bytes: [UInt8])] = []
    private let asked = Locked<Range<Int64>?>(nil)

    /// Bytes at the end that hold the end of the directory with the longest comment, and the whole directory of most archives.
    static let tail: Int64 = 66 << 10
    /// Bytes of a directory at most.
    static let limit = 64 << 20

    init(length: Int64) {
        self.length = length
    }

    mutating func add(_ range: Range<Int64>, _ bytes: [UInt8]) {
        parts.append((range.lowerBound..<range.lowerBound + Int64(bytes.count), bytes))
    }

    /// The range that was requested last and is missing; reading it clears it.
    var missing: Range<Int64>? { asked.withLock { $0.take() } }

    func read(_ range: Range<Int64>) throws(ArchiveError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else { throw ArchiveError(.damaged, "archive is cut off") }
        guard
            let part = parts.first(where: { $0.range.lowerBound <= range.lowerBound && $0.range.upperBound >= range.upperBound })
        else {
            asked.withLock { $0 = range }
            throw ArchiveError(.damaged, "archive is cut off")
        }
        if part.range == range { return part.bytes }
        let start = Int(range.lowerBound - part.range.lowerBound)
        return Array(part.bytes[start..<start + range.count])
    }
}
