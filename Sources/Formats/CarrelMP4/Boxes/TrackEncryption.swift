// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto

/// Encryption parameters of Common Encryption samples: a track's defaults (`tenc`, ISO/IEC 23001-7 §8.2), or a sample group's
/// (`seig`, §6).
package struct TrackEncryption: Sendable, Hashable {
    /// Whether samples are encrypted.
    package var isProtected: Bool
    /// Bytes of the initialization vector that each sample has: 0, 8 or 16.
    package var ivSize: Int
    /// The key.
    package var keyID: KeyID
    /// The constant initialization vector, if samples have none of their own.
    package var constantIV: AESBlock?
    /// Which blocks of a protected range are encrypted.
    package var pattern: BlockPattern

    /// The types of PIFF's boxes (Protected Interoperable File Format 1.1 §5.3).
    static let piffTrack: [UInt8] = [
        0x89, 0x74, 0xdb, 0xce, 0x7b, 0xe7, 0x4c, 0x51, 0x84, 0xf9, 0x71, 0x48, 0xf9, 0x88, 0x25, 0x54,
    ]
    static let piffSamples: [UInt8] = [
        0xa2, 0x39, 0x4f, 0x52, 0x5a, 0x9b, 0x4f, 0x14, 0xa2, 0x44, 0x6c, 0x42, 0x7c, 0x64, 0x8d, 0xf4,
    ]
    static let piffSystem: [UInt8] = [
        0xd0, 0x8a, 0x4f, 0x18, 0x10, 0xf3, 0x4a, 0x82, 0xb6, 0xc8, 0x32, 0xd8, 0xab, 0xa1, 0x83, 0xd3,
    ]

    /// Reads the content of a `tenc` box.
    ///
    /// - Parameter content: the content after the box's header.
    /// - Throws: `Malformed` if it is truncated or names a size of vectors that there is not.
    package init(tenc content: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(content)
        let version = try cursor.u8("track encryption")
        try cursor.skip(4, "track encryption")
        let pattern = try cursor.u8("track encryption")
        try self.init(&cursor, pattern: version == 0 ? 0 : pattern, "track encryption")
    }

    /// Reads the content of a `seig` entry of a sample group description.
    init(seig content: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(content)
        try cursor.skip(1, "sample group entry")
        let pattern = try cursor.u8("sample group entry")
        try self.init(&cursor, pattern: pattern, "sample group entry")
    }

    /// Bytes of the `seig` entry at a cursor, from its own fields.
    static func groupEntryLength(_ cursor: borrowing ByteCursor) -> Int {
        let bytes = cursor.bytes
        let start = cursor.position
        guard cursor.remaining > 20, bytes.u8(at: start + 2) != 0, bytes.u8(at: start + 3) == 0 else { return 20 }
        return 21 + Int(bytes.u8(at: start + 20))
    }

    private init(_ cursor: inout ByteCursor, pattern: UInt8, _ what: StaticString) throws(Malformed) {
        let start = cursor.position
        isProtected = try cursor.u8(what) != 0
        ivSize = Int(try cursor.u8(what))
        guard [0, 8, 16].contains(ivSize) else { throw Malformed("initialization vectors of \(ivSize) bytes", at: start + 1) }
        keyID = try KeyID(&cursor)
        self.pattern = BlockPattern(crypt: Int(pattern >> 4), skip: Int(pattern & 15))
        guard isProtected, ivSize == 0 else { return }
        let size = Int(try cursor.u8("constant initialization vector"))
        let at = cursor.position
        constantIV = AESBlock(try cursor.slice(size, "constant initialization vector"))
        guard constantIV != nil else { throw Malformed("constant initialization vector of \(size) bytes", at: at - 1) }
    }

    /// Reads PIFF's equivalent of a `tenc` box: the content of its `uuid` box after the type (§5.3.3) or, in a sample encryption
    /// box that overrides the track's defaults, the same without version and flags.
    init(piff cursor: inout ByteCursor) throws(Malformed) {
        let start = cursor.position
        let algorithm = try cursor.u24("PIFF track encryption")
        guard algorithm <= 2 else { throw Malformed("PIFF has no algorithm \(algorithm)", at: start) }
        isProtected = algorithm != 0
        ivSize = Int(try cursor.u8("PIFF track encryption"))
        guard ivSize == 8 || ivSize == 16 || !isProtected else {
            throw Malformed("initialization vectors of \(ivSize) bytes", at: start + 3)
        }
        keyID = try KeyID(&cursor)
        pattern = .whole
        piffAlgorithm = UInt8(algorithm)
    }

    /// PIFF's algorithm: 1 is AES-CTR, 2 AES-CBC; 0 if the scheme determines it.
    package private(set) var piffAlgorithm: UInt8 = 0
}
