// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A document as the content of a sealed data item: both addresses with their lengths, then the bytes.
enum DocumentItem {
    static func written(_ document: SavedDocument) -> [UInt8] {
        var bytes: [UInt8] = []
        append(document.address, to: &bytes)
        append(document.finalAddress, to: &bytes)
        return bytes + document.bytes
    }

    /// Reads an item.
    ///
    /// - Parameters:
    ///   - bytes: the content.
    ///   - range: the range of the resource.
    /// - Returns: the document.
    /// - Throws: an error if it is cut off; its seal was right.
    static func read(_ bytes: [UInt8], range: Range<Int64>?) throws(Malformed) -> SavedDocument {
        var cursor = ByteCursor(bytes.rawSpan)
        let address = try text(&cursor)
        let finalAddress = try text(&cursor)
        let rest = Array(bytes[cursor.position...])
        return SavedDocument(address: address, range: range, finalAddress: finalAddress, bytes: rest)
    }

    // MARK: - Plans

    /// The addresses of the pieces of all streams, and whether each is delivered encrypted: what tables do not have.
    static func written(_ streams: [[SavedPiece]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in streams.joined() {
            bytes.append(piece.isEncrypted ? 1 : 0)
            append(piece.address, to: &bytes)
        }
        return bytes
    }

    /// Reads the addresses of pieces.
    ///
    /// - Parameters:
    ///   - bytes: the content.
    ///   - count: pieces of all streams.
    /// - Returns: as many addresses.
    /// - Throws: an error if there are not as many.
    static func addresses(_ bytes: [UInt8], count: Int) throws(Malformed) -> [(address: String, isEncrypted: Bool)] {
        var cursor = ByteCursor(bytes.rawSpan)
        var list: [(address: String, isEncrypted: Bool)] = []
        list.reserveCapacity(count)
        for _ in 0..<count {
            let flag = try cursor.u8("flag")
            list.append((try text(&cursor), flag == 1))
        }
        guard cursor.remaining == 0 else { throw Malformed("the plan is too long", at: cursor.position) }
        return list
    }

    // MARK: - Texts

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let count = UInt32(text.utf8.count)
        bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        bytes += text.utf8
    }

    private static func text(_ cursor: inout ByteCursor) throws(Malformed) -> String {
        let count = Int(try cursor.u32("length"))
        var bytes: [UInt8] = []
        bytes.append(copying: try cursor.slice(count, "address"))
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Malformed("an address is not UTF-8", at: cursor.position)
        }
        return text
    }
}
