import COpenSSL
import CarrelBytes

/// The cryptographic generator, for what may be seen: identifiers, nonces, salts. Keys come from `Secret.random`.
public enum Random {
    /// `count` bytes.
    public static func bytes(_ count: Int) -> [UInt8] {
        _ = OpenSSL.shared
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard unsafe RAND_bytes(buffer.baseAddress, CInt(count)) == 1 else { fatalError("the system has no randomness") }
            initialized = count
        }
    }

    /// A random UUID (version 4, RFC 9562 §5.4) in lower case.
    public static func uuid() -> String {
        var bytes = bytes(16)
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let hex = Hex.encode(bytes)
        var text = ""
        for (index, digit) in hex.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append("-") }
            text.append(digit)
        }
        return text
    }
}
