// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A descriptor of a program or of one of its streams: a tag with bytes (ISO/IEC 13818-1 §2.6).
package struct StreamDescriptor: Sendable, Hashable {
    /// `descriptor_tag`.
    package var tag: UInt8
    /// The content, at most 255 bytes.
    package var content: [UInt8]

    /// Creates a descriptor; of the content only the first 255 bytes can be written.
    package init(tag: UInt8, content: [UInt8]) {
        self.tag = tag
        self.content = content
    }

    /// Names a format by four letters: `registration_descriptor` (§2.6.8).
    package static func registration(_ name: String, _ more: [UInt8] = []) -> StreamDescriptor {
        StreamDescriptor(tag: 0x05, content: Array(name.utf8) + more)
    }

    /// Four letters that identify the private data: `private_data_indicator_descriptor` (§2.6.28).
    package static func privateData(_ name: String) -> StreamDescriptor {
        StreamDescriptor(tag: 0x0f, content: Array(name.utf8))
    }

    /// Names the language of a stream: `ISO_639_language_descriptor` (§2.6.18), of no particular audio type.
    ///
    /// - Parameter code: three letters (ISO 639-2).
    /// - Returns: the descriptor; nil if the code is another text, or undetermined.
    package static func language(_ code: String) -> StreamDescriptor? {
        guard code.utf8.count == 3, code.utf8.allSatisfy({ (0x61...0x7a).contains($0) }), code != "und" else { return nil }
        return StreamDescriptor(tag: 0x0a, content: Array(code.utf8) + [0])
    }

    /// The way packets are scrambled: `scrambling_descriptor` (ETSI EN 300 468 §6.2.32); 0x10 is DVB-CISSA version 1.
    package static func scrambling(_ mode: UInt8) -> StreamDescriptor {
        StreamDescriptor(tag: scramblingTag, content: [mode])
    }

    /// The tag of `scrambling_descriptor`.
    static let scramblingTag: UInt8 = 0x65

    /// Whether the descriptor has this tag and its content begins with these letters.
    package func names(_ text: StaticString, tag: UInt8) -> Bool {
        self.tag == tag && content.rawSpan.matches(text, at: 0)
    }

    /// Reads a list of descriptors.
    ///
    /// - Parameter bytes: descriptors and nothing else.
    /// - Returns: all of them.
    /// - Throws: if one leaves the list.
    package static func list(_ bytes: RawSpan) throws(Malformed) -> [StreamDescriptor] {
        var cursor = ByteCursor(bytes)
        var list: [StreamDescriptor] = []
        while cursor.remaining > 0 {
            let tag = try cursor.u8("descriptor tag")
            let length = Int(try cursor.u8("descriptor length"))
            list.append(StreamDescriptor(tag: tag, content: [UInt8](copying: try cursor.slice(length, "descriptor"))))
        }
        return list
    }

    /// The bytes of a list of descriptors.
    static func bytes(_ list: [StreamDescriptor]) -> [UInt8] {
        list.flatMap { [$0.tag, UInt8(min($0.content.count, 255))] + $0.content.prefix(255) }
    }
}
