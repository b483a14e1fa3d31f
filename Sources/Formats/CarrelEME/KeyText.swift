// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The base 64 of key ids and keys. The specification has one form (W3C EME §9.1.7): for URLs, without padding. Players of Android
/// before version 8 write and read the plain alphabet, and some servers pad.
enum KeyText {
    /// Whether a text uses the plain alphabet or padding.
    static func isPlain(_ text: String) -> Bool {
        text.utf8.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "=") }
    }

    /// The bytes of a text in either alphabet, with or without its padding; nil for anything else.
    static func decode(_ text: String) -> [UInt8]? {
        var characters = Array(text.utf8)
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 || (padding <= 2 && characters.count % 4 == 0) else { return nil }
        characters.removeLast(padding)
        for index in characters.indices {
            if characters[index] == UInt8(ascii: "+") { characters[index] = UInt8(ascii: "-") }
            if characters[index] == UInt8(ascii: "/") { characters[index] = UInt8(ascii: "_") }
        }
        return Base64URL.decode(characters: characters)
    }

    /// The text of bytes, in the plain alphabet with padding or in the specification's form.
    static func encode(_ bytes: [UInt8], isPlain: Bool) -> String {
        isPlain ? Base64.encode(bytes) : Base64URL.encode(bytes)
    }
}
