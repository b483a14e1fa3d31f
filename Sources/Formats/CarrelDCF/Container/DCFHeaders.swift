// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelMP4

/// The headers that both OMA formats share (`ohdr`, OMA DRM Content Format 2.0).
package struct DCFHeaders: Sendable, Hashable {
    /// How the content is encrypted.
    package var cipher: DCFCipher
    /// Whether RFC 2630 padding fills the last block.
    package var isPadded: Bool
    /// Bytes of the content in the clear; 0 in PDCF.
    package var clearLength: Int64
    /// The content id, a URI of the scheme `cid:` as a rule.
    package var contentID: String
    /// The URL of the rights issuer; empty if there is none.
    package var rightsIssuer: String
    /// Headers in words, in their order.
    package var textual: [DCFTextualHeader]
    /// The content key wrapped with a group key, if the content belongs to a group.
    package var groupKey: DCFGroupKey?
    /// Other boxes after the headers, verbatim.
    package var otherBoxes: [UInt8]

    /// - Parameters:
    ///   - cipher: how the content is encrypted. CBC is padded.
    ///   - contentID: the content id.
    ///   - rightsIssuer: the address of the rights issuer; empty for none.
    ///   - textual: headers in words.
    ///   - groupKey: the content key under a group key.
    package init(
        cipher: DCFCipher,
        contentID: String,
        rightsIssuer: String = "",
        textual: [DCFTextualHeader] = [],
        groupKey: DCFGroupKey? = nil
    ) {
        self.cipher = cipher
        isPadded = cipher == .cbc
        clearLength = 0
        self.contentID = contentID
        self.rightsIssuer = rightsIssuer
        self.textual = textual
        self.groupKey = groupKey
        otherBoxes = []
    }

    /// Reads the content of an `ohdr` box.
    ///
    /// - Parameters:
    ///   - bytes: the content, with version and flags.
    ///   - base: the offset of the content in the file, for errors.
    /// - Throws: `Malformed` with the fault and its place in the file.
    package init(_ bytes: RawSpan, base: Int = 0) throws(Malformed) {
        do throws(Malformed) {
            var cursor = ByteCursor(bytes)
            guard try cursor.u32("headers") >> 24 == 0 else { throw Malformed("headers have an unknown version", at: 0) }
            let method = try cursor.u8("encryption method")
            guard let cipher = DCFCipher(rawValue: method) else {
                throw Malformed("encryption method \(method) is unknown", at: 4)
            }
            let padding = try cursor.u8("padding")
            guard padding <= 1 else { throw Malformed("padding \(padding) is unknown", at: 5) }
            let length = try cursor.u64("plaintext length")
            guard let clearLength = Int64(exactly: length) else { throw Malformed("plaintext length is negative", at: 6) }
            let lengths = (Int(try cursor.u16("headers")), Int(try cursor.u16("headers")), Int(try cursor.u16("headers")))
            self.cipher = cipher
            isPadded = padding == 1
            self.clearLength = clearLength
            contentID = try OMAText.read(cursor.slice(lengths.0, "content id"), "content id", at: 20)
            rightsIssuer = try OMAText.read(cursor.slice(lengths.1, "rights issuer"), "rights issuer", at: 20 + lengths.0)
            textual = Self.textual(try cursor.slice(lengths.2, "textual headers"))
            otherBoxes = []
            groupKey = nil
            var group: DCFGroupKey?
            var others: [UInt8] = []
            let start = cursor.position
            try MemoryBoxList.forEach(in: cursor.slice(cursor.remaining), base: start) {
                type,
                box,
                content,
                at throws(Malformed) in
                guard type == "grpi" else { return others.append(copying: box) }
                guard group == nil else { throw Malformed("there are two group boxes", at: at) }
                guard content.byteCount >= 4 else { throw Malformed("group box is cut off", at: at) }
                do throws(Malformed) { group = try DCFGroupKey(content.extracting(droppingFirst: 4)) } catch {
                    throw error.moved(by: at + 4)
                }
            }
            groupKey = group
            otherBoxes = others
        } catch {
            throw error.moved(by: base)
        }
    }

    private static func textual(_ bytes: RawSpan) -> [DCFTextualHeader] {
        [UInt8](copying: bytes).split(separator: 0).map { DCFTextualHeader(String(decoding: $0, as: UTF8.self)) }
    }

    /// The value of the first textual header of this name, whatever its case.
    package func value(of name: String) -> String? {
        textual.first { $0.isNamed(name) }.map { String($0.value) }
    }

    /// How to acquire rights silently (`Silent`).
    package var silentAcquisition: DCFAcquisition? { textual.first { $0.isNamed("Silent") }.flatMap { DCFAcquisition($0.value) } }

    /// How to preview the content (`Preview`).
    package var preview: DCFAcquisition? { textual.first { $0.isNamed("Preview") }.flatMap { DCFAcquisition($0.value) } }

    /// Writes the box.
    ///
    /// - Returns: the offset of the plaintext length from the start of the box.
    /// - Throws: `dcf.header` if a string is longer than its field.
    @discardableResult
    func write(to writer: inout BoxWriter) throws(DCFError) -> Int {
        var text: [UInt8] = []
        for header in textual {
            guard !header.text.utf8.contains(0) else { throw DCFError(.header, "a textual header holds a NUL") }
            text += Array(header.text.utf8) + [0]
        }
        let strings = [
            (Array(contentID.utf8), "content id"), (Array(rightsIssuer.utf8), "rights issuer"), (text, "textual headers"),
        ]
        for (string, what) in strings where string.count > Int(UInt16.max) {
            throw DCFError(.header, "\(what): longer than 65535 bytes")
        }
        guard groupKey.map({ $0.groupID.utf8.count <= 0xffff && $0.encryptedKey.count <= 0xffff }) ?? true else {
            throw DCFError(.header, "group id: longer than 65535 bytes")
        }
        writer.fullBox("ohdr") { writer in
            writer.u8(cipher.rawValue)
            writer.u8(isPadded ? 1 : 0)
            writer.u64(UInt64(clearLength))
            for (string, _) in strings { writer.u16(UInt16(string.count)) }
            for (string, _) in strings { writer.append(string) }
            groupKey?.write(to: &writer)
            writer.append(otherBoxes)
        }
        return 14
    }
}
