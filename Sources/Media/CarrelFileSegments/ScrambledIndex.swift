// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// An index of the points at which segments of a scrambled transport stream may begin, in a separate file.
///
/// The format is this project's own: lines `OFFSET TIME`, two decimal numbers separated by a space, both increasing. `OFFSET` is
/// the first byte of a packet at which decoding can start, or of the tables before it; `TIME` is its presentation time in 90 kHz
/// ticks from the beginning of the stream, without wrapping at 33 bits. The last line has the length and the end time of the
/// stream. Empty lines and lines that begin with `#` are ignored.
///
/// ```
/// # offset time
/// 0 0
/// 752188 540000
/// 1499112 900000
/// ```
package struct ScrambledIndex: Sendable, Hashable {
    /// One line.
    package struct Entry: Sendable, Hashable {
        /// The first byte.
        package var offset: Int64
        /// When it is presented, in 90 kHz ticks.
        package var time: Int64

        package init(offset: Int64, time: Int64) {
            self.offset = offset
            self.time = time
        }
    }

    /// The places, the end of the stream as the last one.
    package let entries: [Entry]

    /// Bytes of a text, at most.
    package static let lengthLimit = 4 << 20

    /// - Parameter entries: increasing; the last entry is the end of the stream.
    /// - Throws: `Malformed` if there are fewer than two, they do not increase, or an offset is not on a packet boundary.
    package init(_ entries: [Entry]) throws(Malformed) {
        guard entries.count >= 2 else { throw Malformed("an index has two lines at least", at: 0) }
        var last = Entry(offset: -1, time: -1)
        for (number, entry) in entries.enumerated() {
            guard entry.offset > last.offset, entry.time > last.time, entry.time < 1 << 61, entry.offset < 1 << 61 else {
                throw Malformed("line \(number + 1) of the index does not rise", at: 0)
            }
            guard entry.offset % 188 == 0 else {
                throw Malformed("line \(number + 1) of the index does not name the first byte of a packet", at: 0)
            }
            last = entry
        }
        self.entries = entries
    }

    /// Reads a text.
    ///
    /// - Parameter text: the lines; 4 MiB at most.
    /// - Throws: `Malformed` with the byte of the line that is not an entry, or does not rise.
    package init(_ text: RawSpan) throws(Malformed) {
        guard text.byteCount <= Self.lengthLimit else {
            throw Malformed("the index is longer than \(Self.lengthLimit) bytes", at: Self.lengthLimit)
        }
        var entries: [Entry] = []
        var at = 0
        while at < text.byteCount {
            var end = at
            while end < text.byteCount, text.u8(at: end) != 10 { end += 1 }
            var line = text.extracting(at..<end)
            if line.byteCount > 0, line.u8(at: line.byteCount - 1) == 13 { line = line.extracting(0..<line.byteCount - 1) }
            if line.byteCount > 0, line.u8(at: 0) != UInt8(ascii: "#") {
                guard let entry = Self.entry(line) else { throw Malformed("a line of the index is not OFFSET TIME", at: at) }
                if let last = entries.last, entry.offset <= last.offset || entry.time <= last.time {
                    throw Malformed("a line of the index does not rise", at: at)
                }
                guard entry.offset % 188 == 0 else {
                    throw Malformed("a line of the index does not name the first byte of a packet", at: at)
                }
                entries.append(entry)
            }
            at = end + 1
        }
        try self.init(entries)
    }

    private static func entry(_ line: RawSpan) -> Entry? {
        var numbers: [Int64] = []
        var number: Int64?
        for i in 0..<line.byteCount {
            let byte = line.u8(at: i)
            switch byte {
            case 0x30...0x39:
                let value = (number ?? 0) * 10 + Int64(byte - 0x30)
                guard value < 1 << 56 else { return nil }
                number = value
            case 0x20:
                guard let value = number, numbers.isEmpty else { return nil }
                numbers.append(value)
                number = nil
            default: return nil
            }
        }
        guard let first = numbers.first, let number else { return nil }
        return Entry(offset: first, time: number)
    }

    /// The text.
    package var text: String { "# offset time\n" + entries.map { "\($0.offset) \($0.time)\n" }.joined() }
}
