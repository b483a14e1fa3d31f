// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelThreads

/// Ranges of files as one file.
final class JoinedFiles: ByteReader, Sendable {
    private struct Part: Sendable {
        var path: String
        var range: Range<Int64>
        /// The offset of its first byte.
        var start: Int64
    }

    let length: Int64
    private let parts: [Part]
    /// The file that was read last.
    private let open = Locked<LocalFile?>(nil)

    /// - Parameter ranges: the files with their ranges, in order.
    init(_ ranges: [(path: String, range: Range<Int64>)]) {
        var parts: [Part] = []
        var at: Int64 = 0
        for (path, range) in ranges where !range.isEmpty {
            parts.append(Part(path: path, range: range, start: at))
            at += Int64(range.count)
        }
        self.parts = parts
        length = at
    }

    func read(_ range: Range<Int64>) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for part in parts where part.start < range.upperBound && part.start + Int64(part.range.count) > range.lowerBound {
            let from = max(range.lowerBound, part.start) - part.start
            let to = min(range.upperBound, part.start + Int64(part.range.count)) - part.start
            bytes += try file(part.path).readAll(part.range.lowerBound + from..<part.range.lowerBound + to)
        }
        return bytes
    }

    private func file(_ path: String) throws(MediaError) -> LocalFile {
        if let file = open.withLock({ $0 }), file.path == path { return file }
        let file = try LocalFile(path)
        open.withLock { $0 = file }
        return file
    }
}
