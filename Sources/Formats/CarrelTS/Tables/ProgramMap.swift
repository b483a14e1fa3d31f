// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The streams of a program (ISO/IEC 13818-1 §2.4.4.8).
package struct ProgramMap: Sendable, Hashable {
    /// `table_id`.
    static let table: UInt8 = 2

    /// `program_number`.
    package var number: UInt16
    /// The packet identifier of the packets with the program clock; 0x1fff if there is none.
    package var clockPID: UInt16
    /// Descriptors of the program.
    package var descriptors: [StreamDescriptor]
    /// The streams in the order of the table.
    package var streams: [ElementaryStream]

    /// Creates a map.
    package init(number: UInt16, clockPID: UInt16, descriptors: [StreamDescriptor] = [], streams: [ElementaryStream]) {
        self.number = number
        self.clockPID = clockPID
        self.descriptors = descriptors
        self.streams = streams
    }

    /// Reads the body of a section.
    init(_ section: TableSection) throws(Malformed) {
        number = section.identifier
        var cursor = ByteCursor(section.body.rawSpan)
        clockPID = try cursor.u16("clock identifier") & 0x1fff
        let length = Int(try cursor.u16("length of descriptors") & 0xfff)
        descriptors = try StreamDescriptor.list(try cursor.slice(length, "descriptors of the program"))
        streams = []
        while cursor.remaining > 0 {
            let type = try cursor.u8("stream type")
            let pid = try cursor.u16("packet identifier") & 0x1fff
            let length = Int(try cursor.u16("length of descriptors") & 0xfff)
            let descriptors = try StreamDescriptor.list(try cursor.slice(length, "descriptors of a stream"))
            streams.append(ElementaryStream(pid: pid, type: type, descriptors: descriptors))
        }
    }

    /// The map of the same program in the clear: without descriptors of scrambling, and without the stream of key messages.
    var withoutScrambling: ProgramMap {
        var map = self
        map.descriptors.removeAll { $0.tag == StreamDescriptor.scramblingTag }
        map.streams.removeAll(where: \.hasKeyMessages)
        for i in map.streams.indices { map.streams[i].descriptors.removeAll { $0.tag == StreamDescriptor.scramblingTag } }
        return map
    }

    /// A section of a map without scrambling: no longer than before; nil if it is not a map, or nothing in it changes.
    static func withoutScrambling(_ section: [UInt8]) -> [UInt8]? {
        guard var table = try? TableSection(section.rawSpan), table.table == Self.table, let map = try? ProgramMap(table),
            let clear = try? map.withoutScrambling.section().body, clear != table.body
        else { return nil }
        table.body = clear
        return table.bytes
    }

    /// The only section of the table.
    ///
    /// - Throws: if the streams and descriptors do not fit into one.
    package func section() throws(Malformed) -> TableSection {
        var body: [UInt8] = []
        body.append(bigEndian: 0xe000 | clockPID)
        let program = StreamDescriptor.bytes(descriptors)
        body.append(bigEndian: 0xf000 | UInt16(truncatingIfNeeded: program.count) & 0xfff)
        body += program
        for stream in streams {
            body.append(stream.type)
            body.append(bigEndian: 0xe000 | stream.pid)
            let descriptors = StreamDescriptor.bytes(stream.descriptors)
            body.append(bigEndian: 0xf000 | UInt16(truncatingIfNeeded: descriptors.count) & 0xfff)
            body += descriptors
        }
        guard body.count <= TableSection.maximumBody else {
            throw Malformed("program map is longer than a section", at: body.count)
        }
        return TableSection(table: Self.table, identifier: number, body: body)
    }
}
