import CarrelBytes

/// A message for the application at a moment of the presentation (`emsg` version 1, ISO/IEC 23009-1 §5.10.3.3).
package struct EventMessage: Sendable, Hashable {
    /// The URI of the scheme.
    package var scheme: String
    /// The value within the scheme.
    package var value: String
    /// Units a second.
    package var timescale: UInt32
    /// When it happens, in those units, from the start of the track's timeline.
    package var time: UInt64
    /// How long, in those units; 0xffffffff when unknown.
    package var duration: UInt32
    /// Equal ids of one scheme and value are the same event.
    package var id: UInt32
    /// The message.
    package var data: [UInt8]

    /// - Parameters:
    ///   - scheme: the URI of the scheme.
    ///   - value: within the scheme.
    ///   - timescale: units a second.
    ///   - time: when it happens.
    ///   - duration: how long; 0xffffffff when unknown.
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

    /// Writes the box. A zero byte ends a text early.
    package func write(to writer: inout BoxWriter) {
        writer.fullBox("emsg", version: 1) { writer in
            writer.u32(timescale)
            writer.u64(time)
            writer.u32(duration)
            writer.u32(id)
            for text in [scheme, value] {
                writer.append(Array(text.utf8.prefix { $0 != 0 }))
                writer.u8(0)
            }
            writer.append(data)
        }
    }
}
