// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// The bytes of an object before its ciphertext: the boxes `odrm`, `odhe` and the start of `odda` (OMA DRM Content Format 2.0).
///
/// The same values give the same bytes, and their length does not depend on the content.
package struct DCFObjectHead: Sendable, Hashable {
    /// The box `ftyp` that a file starts with.
    package static var fileType: [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.fourCC("odcf")
            writer.u32(2)
            writer.fourCC("odcf")
        }
        return writer.bytes
    }

    /// The bytes before the initialization vector, which the key of the tags depends on.
    package private(set) var bytes: [UInt8]
    /// The offsets of the plaintext length and of `odda`.
    private let clearLengthAt: Int
    private let dataAt: Int
    private let cipher: DCFCipher

    /// - Parameters:
    ///   - contentType: the media type, at most 255 bytes.
    ///   - headers: the headers; `clearLength` and the padding are set here.
    ///   - userData: the boxes of the user data, whole; empty for none.
    ///   - length: bytes of the content in the clear.
    /// - Throws: `dcf.header`, `dcf.length`.
    package init(contentType: String, _ headers: DCFHeaders, userData: [UInt8] = [], length: Int64) throws(DCFError) {
        guard contentType.utf8.count <= 255 else { throw DCFError(.header, "content type: longer than 255 bytes") }
        guard length >= 0, length < 1 << 60 else { throw DCFError(.length, "content has an impossible length") }
        var headers = headers
        headers.isPadded = headers.cipher == .cbc
        var head = BoxWriter()
        var lengthAt = 0
        try head.fullBox("odhe") { writer throws(DCFError) in
            writer.u8(UInt8(contentType.utf8.count))
            writer.append(Array(contentType.utf8))
            lengthAt = writer.bytes.count
            lengthAt += try headers.write(to: &writer)
            if !userData.isEmpty { writer.box("udta") { $0.append(userData) } }
        }
        guard head.bytes.count <= 1 << 20 else { throw DCFError(.header, "headers and user data: longer than 1 MiB") }
        var writer = BoxWriter()
        writer.u32(1)
        writer.fourCC("odrm")
        writer.u64(0)
        writer.u32(0)
        clearLengthAt = writer.bytes.count + lengthAt
        writer.append(head.bytes)
        dataAt = writer.bytes.count
        writer.u32(1)
        writer.fourCC("odda")
        writer.u64(0)
        writer.u32(0)
        writer.u64(0)
        bytes = writer.bytes
        cipher = headers.cipher
        setLength(length)
    }

    /// The length of the ciphertext for a length of the content.
    package static func encryptedLength(_ clear: Int64, _ cipher: DCFCipher) -> Int64 {
        cipher == .cbc ? (clear / 16 + 1) * 16 : clear
    }

    /// The four lengths for a length of the content: the offset of each, and its bytes.
    func lengths(_ clear: Int64) -> [(at: Int, bytes: [UInt8])] {
        func bytes(_ value: Int64) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: UInt64(value))
            return bytes
        }
        let payload = Self.encryptedLength(clear, cipher) + (cipher == .none ? 0 : 16)
        let data = 28 + payload
        return [
            (8, bytes(Int64(dataAt) + data)),
            (clearLengthAt, bytes(clear)),
            (dataAt + 8, bytes(data)),
            (dataAt + 20, bytes(payload)),
        ]
    }

    private mutating func setLength(_ clear: Int64) {
        for (at, value) in lengths(clear) { bytes.replaceSubrange(at..<at + 8, with: value) }
    }
}
