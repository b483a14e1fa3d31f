// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Subtitles as a WebVTT file has them (W3C WebVTT §4).
package struct WebVTTFile: Sendable {
    /// One cue.
    package struct Cue: Sendable, Hashable {
        /// Milliseconds.
        package var start: Int64
        /// The end time in milliseconds; after `start`.
        package var end: Int64
        /// Its lines: an optional identifier, the times with settings, the text.
        package var lines: [String]

        init(start: Int64, end: Int64, lines: [String]) {
            self.start = start
            self.end = end
            self.lines = lines
        }

        /// Creates a cue.
        ///
        /// - Parameters:
        ///   - start: the start time in milliseconds.
        ///   - end: the end time in milliseconds; after `start`.
        ///   - identifier: one line; empty for none.
        ///   - settings: the settings after the times; empty for none.
        ///   - text: lines separated by line feeds; empty lines are left out, because an empty line would end the cue.
        package init(start: Int64, end: Int64, identifier: String = "", settings: String = "", text: String) {
            self.start = start
            self.end = end
            lines = []
            let name = Self.line(identifier)
            if !name.isEmpty { lines.append(name) }
            let more = Self.line(settings)
            lines.append("\(Self.time(start)) --> \(Self.time(end))\(more.isEmpty ? "" : " ")\(more)")
            lines += text.split(whereSeparator: \.isNewline).map { Self.line($0) }.filter { !$0.isEmpty }
        }

        /// A line that does not look like one of times.
        private static func line(_ text: some StringProtocol) -> String {
            let parts = text.split(separator: "-->", omittingEmptySubsequences: false)
            return parts.joined(separator: "--&gt;").split(whereSeparator: \.isNewline).joined(separator: " ")
        }

        private static func time(_ milliseconds: Int64) -> String {
            func digits(_ value: Int64, _ count: Int) -> String {
                let text = String(value)
                return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
            }
            let time = min(max(0, milliseconds), 3_599_999_999_999)
            let (hours, minutes, seconds) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60)
            return "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(seconds, 2)).\(digits(time % 1000, 3))"
        }
    }

    /// Cues in the order of the file.
    package private(set) var cues: [Cue] = []
    /// Their places, by when they start; of those that start together the first one first.
    private var order: [Int] = []
    /// For each index of `order`, the latest end of all cues up to it; it never decreases.
    private var latestEnds: [Int64] = []
    /// Blocks of styles and regions, which every segment needs.
    package private(set) var definitions: [[String]] = []

    /// Bytes of a file, at most.
    package static let limit = 16 << 20

    /// Creates a file.
    ///
    /// - Parameters:
    ///   - cues: the cues in order of their start.
    ///   - definitions: blocks of styles and regions.
    package init(cues: [Cue], definitions: [[String]] = []) {
        self.cues = cues
        self.definitions = definitions
        arrange()
    }

    /// Finds the order of the cues, by which segments are made.
    private mutating func arrange() {
        order = cues.indices.sorted { (cues[$0].start, $0) < (cues[$1].start, $1) }
        var latest = Int64.min
        latestEnds = order.map { index in
            latest = max(latest, cues[index].end)
            return latest
        }
    }

    /// Reads a file.
    ///
    /// - Parameter bytes: all of it; UTF-8.
    /// - Throws: `Malformed` if it is not a WebVTT file, or a cue's times are damaged, with the byte at which its block begins.
    package init(_ bytes: RawSpan) throws(Malformed) {
        guard bytes.byteCount <= Self.limit else { throw Malformed("subtitles have more than 16 MiB", at: Self.limit) }
        let hasMark = bytes.byteCount >= 3 && bytes.u8(at: 0) == 0xef && bytes.u8(at: 1) == 0xbb && bytes.u8(at: 2) == 0xbf
        let start = hasMark ? 3 : 0
        guard bytes.byteCount >= start + 6, bytes.matches("WEBVTT", at: start) else {
            throw Malformed("not a WebVTT file", at: 0)
        }
        if bytes.byteCount > start + 6 {
            guard [0x20, 0x09, 0x0a, 0x0d].contains(bytes.u8(at: start + 6)) else { throw Malformed("not a WebVTT file", at: 6) }
        }
        var block: [String] = []
        var blockStart = 0
        var isHeader = true
        var at = start
        while at <= bytes.byteCount {
            let (line, next) = Self.line(bytes, at)
            if line.isEmpty {
                if !isHeader { try add(block, at: blockStart) }
                isHeader = false
                block.removeAll()
                blockStart = next
            } else {
                block.append(line)
            }
            at = next
        }
        if !isHeader { try add(block, at: blockStart) }
        arrange()
    }

    /// The line at an offset, and the offset of the next line.
    private static func line(_ bytes: RawSpan, _ start: Int) -> (String, Int) {
        var end = start
        while end < bytes.byteCount, bytes.u8(at: end) != 10, bytes.u8(at: end) != 13 { end += 1 }
        let text = String(decoding: [UInt8](copying: bytes.extracting(start..<end)), as: UTF8.self)
        guard end < bytes.byteCount else { return (text, bytes.byteCount + 1) }
        let isPair = bytes.u8(at: end) == 13 && end + 1 < bytes.byteCount && bytes.u8(at: end + 1) == 10
        return (text, end + (isPair ? 2 : 1))
    }

    private mutating func add(_ block: [String], at offset: Int) throws(Malformed) {
        guard let first = block.first else { return }
        let timing = block.prefix(2).first { $0.contains("-->") }
        guard let timing else {
            if first.hasPrefix("STYLE") || first.hasPrefix("REGION") { definitions.append(block) }
            return  // a comment, or what readers pass over
        }
        let sides = timing.split(separator: "-->", maxSplits: 1)
        let last = sides.count == 2 ? sides[1].split(whereSeparator: { $0 == " " || $0 == "\t" }).first : nil
        guard sides.count == 2, let last, let start = Self.time(sides[0].filter { $0 != " " && $0 != "\t" }[...]),
            let end = Self.time(last), end >= start
        else { throw Malformed("the times of a cue are damaged", at: offset) }
        // players never show such a cue
        guard end > start else { return }
        cues.append(Cue(start: start, end: end, lines: block))
    }

    /// Milliseconds of `[hours:]minutes:seconds.milliseconds`.
    private static func time(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, let last = parts.last else { return nil }
        let seconds = last.split(separator: ".", omittingEmptySubsequences: false)
        func number(_ text: Substring, _ digits: ClosedRange<Int>) -> Int64? {
            guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return Int64(text)
        }
        guard seconds.count == 2, let whole = number(seconds[0], 2...2), let thousandths = number(seconds[1], 3...3), whole < 60,
            let minutes = number(parts[parts.count - 2], 2...2), minutes < 60
        else { return nil }
        var hours: Int64 = 0
        if parts.count == 3 {
            guard let value = number(parts[0], 1...6) else { return nil }
            hours = value
        }
        return ((hours * 60 + minutes) * 60 + whole) * 1000 + thousandths
    }

    /// Returns a file with the cues of a part of the presentation; a cue across a boundary is in both parts.
    ///
    /// - Parameters:
    ///   - range: milliseconds.
    ///   - origin: the media time at which the presentation begins, in 90 kHz ticks.
    /// - Returns: the text, with times relative to the beginning of the presentation (RFC 8216 §3.5).
    package func segment(_ range: Range<Int64>, origin: Int64 = 0) -> [UInt8] {
        var text = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:\(origin),LOCAL:00:00:00.000\n"
        for block in definitions { text += "\n" + block.joined(separator: "\n") + "\n" }
        let first = Self.partition(latestEnds.indices) { latestEnds[$0] > range.lowerBound }
        let end = Self.partition(order.indices) { cues[order[$0]].start >= range.upperBound }
        guard first < end else { return Array(text.utf8) }
        for index in order[first..<end].filter({ cues[$0].end > range.lowerBound }).sorted() {
            text += "\n" + cues[index].lines.joined(separator: "\n") + "\n"
        }
        return Array(text.utf8)
    }

    /// The first index that satisfies a predicate, which then holds for all later indexes.
    private static func partition(_ range: Range<Int>, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
