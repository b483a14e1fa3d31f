// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A section of a table with the long header and a checksum (ISO/IEC 13818-1 §2.4.4.11).
package struct TableSection: Sendable, Hashable {
    /// `table_id`.
    package var table: UInt8
    /// `table_id_extension`: the stream of an association table, the program of a map.
    package var identifier: UInt16
    /// The version, 0 to 31.
    package var version: UInt8
    /// Whether the section is in force now, not next.
    package var isCurrent: Bool
    /// The number of the section in its table.
    package var number: UInt8
    /// The number of the last section.
    package var lastNumber: UInt8
    /// Bytes between the header and the checksum.
    package var body: [UInt8]

    /// Bytes of the longest body in tables of this standard.
    static let maximumBody = 1021 - 9

    /// Creates the only section of a table.
    package init(table: UInt8, identifier: UInt16, version: UInt8 = 0, body: [UInt8]) {
        self.table = table
        self.identifier = identifier
        self.version = version
        isCurrent = true
        number = 0
        lastNumber = 0
        self.body = body
    }

    /// Reads a whole section.
    ///
    /// - Parameter bytes: from the table id to the checksum.
    /// - Throws: if it has no long header, its length or its checksum is wrong.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        table = try cursor.u8("table id")
        let length = try cursor.u16("section length")
        guard length & 0x8000 != 0 else { throw Malformed("section has no long header", at: 1) }
        guard Int(length & 0xfff) == cursor.remaining, cursor.remaining >= 9 else {
            throw Malformed("section length is wrong", at: 1)
        }
        guard MPEGCRC32.checksum(bytes) == 0 else { throw Malformed("checksum of a section is wrong", at: bytes.byteCount - 4) }
        identifier = try cursor.u16("table id extension")
        let flags = try cursor.u8("version")
        version = flags >> 1 & 31
        isCurrent = flags & 1 != 0
        number = try cursor.u8("section number")
        lastNumber = try cursor.u8("last section number")
        body = [UInt8](copying: try cursor.slice(cursor.remaining - 4))
    }

    /// The whole section, with its checksum.
    package var bytes: [UInt8] {
        var out: [UInt8] = [table]
        out.append(bigEndian: 0xb000 | UInt16(truncatingIfNeeded: body.count + 9) & 0xfff)
        out.append(bigEndian: identifier)
        out += [0xc0 | (version & 31) << 1 | (isCurrent ? 1 : 0), number, lastNumber]
        out += body
        out.append(bigEndian: MPEGCRC32.checksum(out.rawSpan))
        return out
    }

    /// The section in separate packets, the last one stuffed, with counters from `counter` on.
    package func packets(pid: UInt16, counter: inout UInt8) -> [UInt8] {
        let content = [0] + bytes  // the section starts immediately
        var out: [UInt8] = []
        var at = 0
        while at < content.count {
            let count = min(184, content.count - at)
            out.append(TransportPacket.syncByte)
            out.append(bigEndian: (at == 0 ? 0x4000 : 0) | pid & 0x1fff)
            out.append(0x10 | counter & 15)
            out += content[at..<at + count]
            out += [UInt8](repeating: 0xff, count: 184 - count)
            at += count
            counter = (counter + 1) & 15
        }
        return out
    }
}
