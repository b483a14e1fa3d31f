import CarrelBytes

/// Base 64 with padding (RFC 4648 §4), as Basic authentication has it.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
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
}
