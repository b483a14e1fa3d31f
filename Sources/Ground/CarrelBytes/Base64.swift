// SPDX-License-Identifier: Apache-2.0

/// Base 64 with padding (RFC 4648 §4), as Basic authentication and certificates in JSON have it.
public enum Base64 {
    /// Encodes bytes with padding (RFC 4648 §4).
    ///
    /// - Parameter bytes: any number of bytes.
    /// - Returns: ASCII text without line breaks.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        let safe = Base64URL.encodedBytes(bytes).map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - safe.count % 4) % 4)
        return String(decoding: safe + padding, as: UTF8.self)
    }

    /// The bytes, or nil for anything but their one encoding: no line breaks, padded, unused bits zero.
    ///
    /// - Parameter text: the encoding.
    /// - Returns: the bytes, or nil.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count % 4 == 0 else { return nil }
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        var safe: [UInt8] = []
        safe.reserveCapacity(characters.count)
        for character in characters.dropLast(padding) {
            switch character {
            case UInt8(ascii: "+"): safe.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): safe.append(UInt8(ascii: "_"))
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: safe.append(character)
            }
        }
        guard padding == (4 - safe.count % 4) % 4 else { return nil }
        return Base64URL.decode(characters: safe)
    }
}
