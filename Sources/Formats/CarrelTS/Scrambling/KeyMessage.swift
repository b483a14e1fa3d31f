// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The message of a scrambled stream that names its content and its keys: a private section of this project's own.
///
/// No published specification of the Marlin Broadband Transport Stream is at hand; this message takes the place of its key
/// stream. `docs/media.md` describes it, "Scrambled transport streams".
package struct KeyMessage: Sendable, Hashable {
    /// `table_id`, in the range for private use (ISO/IEC 13818-1 table 2-31).
    package static let table: UInt8 = 0xc0
    /// The letters of the registration descriptor of its stream.
    package static let format = "CRKM"
    private static let version: UInt8 = 1

    /// The content, as licenses name it; at most 255 bytes of UTF-8.
    package var contentID: String
    /// The id of the even key, 16 bytes; nil while it is not settled.
    package var evenKeyID: [UInt8]?
    /// The id of the odd key, 16 bytes; nil while it is not settled.
    package var oddKeyID: [UInt8]?
    /// The key in force.
    package var current: KeyParity
    /// The timestamp from which the other key is in force, 33 bits; nil if unknown.
    package var nextChange: UInt64?

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - contentID: the content ID, at most 255 bytes.
    ///   - evenKeyID: 16 bytes.
    ///   - oddKeyID: 16 bytes.
    ///   - current: the key in force, whose ID is set.
    ///   - nextChange: a 33-bit timestamp.
    /// - Throws: if an ID has another length, or the ID of the key in force is missing.
    package init(
        contentID: String,
        evenKeyID: [UInt8]? = nil,
        oddKeyID: [UInt8]? = nil,
        current: KeyParity,
        nextChange: UInt64? = nil
    ) throws(Malformed) {
        guard contentID.utf8.count <= 255 else { throw Malformed("content id is longer than 255 bytes", at: 0) }
        for id in [evenKeyID, oddKeyID] where id.map({ $0.count != 16 }) ?? false {
            throw Malformed("a key id has 16 bytes", at: 0)
        }
        guard (current == .even ? evenKeyID : oddKeyID) != nil else {
            throw Malformed("id of the key in force is missing", at: 0)
        }
        self.contentID = contentID
        self.evenKeyID = evenKeyID
        self.oddKeyID = oddKeyID
        self.current = current
        self.nextChange = nextChange.map { $0 & (MediaTime.modulus - 1) }
    }

    /// Reads a section.
    ///
    /// - Parameter section: a section with a verified checksum; bytes after the message are reserved for later versions.
    /// - Throws: if it is another table or version, is truncated, or its content ID is not UTF-8.
    package init(_ section: TableSection) throws(Malformed) {
        guard section.table == Self.table else { throw Malformed("section is not a key message", at: 0) }
        var cursor = ByteCursor(section.body.rawSpan)
        guard try cursor.u8("key message version") == Self.version else { throw Malformed("key message version is not 1", at: 0) }
        let flags = try cursor.u8("key message flags")
        let length = Int(try cursor.u8("content id length"))
        guard let content = String(validating: [UInt8](copying: try cursor.slice(length, "content id")), as: UTF8.self) else {
            throw Malformed("content id is not UTF-8", at: 3)
        }
        let even = flags & 2 != 0 ? [UInt8](copying: try cursor.slice(16, "even key id")) : nil
        let odd = flags & 4 != 0 ? [UInt8](copying: try cursor.slice(16, "odd key id")) : nil
        var change: UInt64?
        if flags & 8 != 0 { change = UInt64(try cursor.u8("next change")) << 32 | UInt64(try cursor.u32("next change")) }
        try self.init(
            contentID: content,
            evenKeyID: even,
            oddKeyID: odd,
            current: flags & 1 == 0 ? .even : .odd,
            nextChange: change
        )
    }

    /// The section that carries the message.
    ///
    /// - Parameters:
    ///   - program: the number of the program.
    ///   - version: 0 to 31, one more at each change of the message.
    /// - Returns: a section of at most 400 bytes.
    package func section(program: UInt16 = 1, version: UInt8 = 0) -> TableSection {
        var flags: UInt8 = current == .odd ? 1 : 0
        if evenKeyID != nil { flags |= 2 }
        if oddKeyID != nil { flags |= 4 }
        if nextChange != nil { flags |= 8 }
        let content = Array(contentID.utf8.prefix(255))
        var body: [UInt8] = [Self.version, flags, UInt8(content.count)]
        body += content
        body += evenKeyID ?? []
        body += oddKeyID ?? []
        if let nextChange {
            body.append(UInt8(nextChange >> 32 & 1))
            body.append(bigEndian: UInt32(truncatingIfNeeded: nextChange))
        }
        return TableSection(table: Self.table, identifier: program, version: version, body: body)
    }

    /// The id of a key; nil while it is not settled.
    package func keyID(_ parity: KeyParity) -> [UInt8]? { parity == .even ? evenKeyID : oddKeyID }
}

extension ElementaryStream {
    /// Describes the stream of key messages of a scrambled program.
    package static func keyMessages(pid: UInt16) -> ElementaryStream {
        ElementaryStream(pid: pid, type: 0x05, descriptors: [.registration(KeyMessage.format)])
    }

    /// Whether key messages are in it.
    package var hasKeyMessages: Bool { type == 0x05 && descriptors.contains { $0.names("CRKM", tag: 0x05) } }
}
