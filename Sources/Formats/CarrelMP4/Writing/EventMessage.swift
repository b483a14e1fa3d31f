// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A message for the application at a moment of the presentation (`emsg`, ISO/IEC 23009-1 §5.10.3.3).
package struct EventMessage: Sendable, Hashable {
    /// The URI of the scheme.
    package var scheme: String
    /// The value within the scheme.
    package var value: String
    /// Units a second.
    package var timescale: UInt32
    /// When it happens, in those units, from the start of the track's timeline; of version 0 from the beginning of its segment.
    package var time: UInt64
    /// Whether the time is relative to the earliest presentation time of the segment (version 0).
    package var isRelative = false
    /// How long, in those units; 0xffffffff when unknown.
    package var duration: UInt32
    /// Equal ids of one scheme and value are the same event.
    package var id: UInt32
    /// The message.
    package var data: [UInt8]

    /// - Parameters:
    ///   - scheme: the URI of the scheme.
    ///   - value: within the scheme.
    ///   - timescale: units per second.
    ///   - time: the time of the event.
    ///   - duration: its duration; 0xffffffff if unknown.
    ///   - id: equal ids of one scheme and value are the same event.
    ///   - data: the message.
    package init(
        scheme: String,
        value: String,
        timescale: UInt32,
        time: UInt64,
        duration: UInt32,
        id: UInt32,
        data: [UInt8]
    ) {
        self.scheme = scheme
        self.value = value
        self.timescale = timescale
        self.time = time
        self.duration = duration
        self.id = id
        self.data = data
    }

    /// Reads the content of an `emsg` box of version 0 or 1.
    ///
    /// - Parameter content: the content after the type of the box.
    /// - Throws: if it is truncated, a text is not UTF-8, or it has another version.
    package init(_ content: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(content)
        let version = try cursor.u8("event message")
        guard version < 2 else { throw Malformed("version \(version) of an event message is not known", at: 0) }
        try cursor.skip(3, "event message")
        scheme = ""
        value = ""
        if version == 0 {
            scheme = try Self.text(&cursor, content)
            value = try Self.text(&cursor, content)
        }
        timescale = try cursor.u32("event message")
        time = version == 0 ? UInt64(try cursor.u32("event message")) : try cursor.u64("event message")
        isRelative = version == 0
        duration = try cursor.u32("event message")
        id = try cursor.u32("event message")
        if version == 1 {
            scheme = try Self.text(&cursor, content)
            value = try Self.text(&cursor, content)
        }
        data = [UInt8](copying: try cursor.slice(cursor.remaining))
    }

    /// A text up to its zero byte.
    private static func text(_ cursor: inout ByteCursor, _ content: RawSpan) throws(Malformed) -> String {
        let start = content.byteCount - cursor.remaining
        var end = start
        while end < content.byteCount, content.u8(at: end) != 0 { end += 1 }
        let bytes = [UInt8](copying: try cursor.slice(end - start, "text of an event message"))
        try cursor.skip(1, "text of an event message")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Malformed("text of an event message is not UTF-8", at: start)
        }
        return text
    }

    /// Writes the box: version 0 with a relative time, version 1 otherwise. A zero byte ends a text early.
    package func write(to writer: inout BoxWriter) {
        writer.fullBox("emsg", version: isRelative ? 0 : 1) { writer in
            if isRelative { writeTexts(to: &writer) }
            writer.u32(timescale)
            if isRelative { writer.u32(UInt32(clamping: time)) } else { writer.u64(time) }
            writer.u32(duration)
            writer.u32(id)
            if !isRelative { writeTexts(to: &writer) }
            writer.append(data)
        }
    }

    private func writeTexts(to writer: inout BoxWriter) {
        for text in [scheme, value] {
            writer.append(Array(text.utf8.prefix { $0 != 0 }))
            writer.u8(0)
        }
    }
}
