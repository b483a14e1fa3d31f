// SPDX-License-Identifier: Apache-2.0

/// Base 64 with the URL- and file-name-safe alphabet, without padding (RFC 4648 §5).
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xff, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    /// Encodes bytes without padding (RFC 4648 §5).
    ///
    /// - Parameter bytes: any number of bytes.
    /// - Returns: letters, digits, `-` and `_`.
    public static func encode(_ bytes: some Collection<UInt8>) -> String { encode(Array(bytes)) }

    /// Encodes bytes without padding (RFC 4648 §5).
    ///
    /// - Parameter bytes: any number of bytes.
    /// - Returns: letters, digits, `-` and `_`.
    public static func encode(_ bytes: [UInt8]) -> String {
        unsafe String(unsafeUninitializedCapacity: length(bytes.count)) { unsafe write(bytes.span, into: $0) }
    }

    /// The encoding as ASCII bytes.
    ///
    /// - Parameter bytes: the bytes to encode.
    /// - Returns: the characters, without padding.
    public static func encodedBytes(_ bytes: some Collection<UInt8>) -> [UInt8] {
        // Collections of other modules are slow to walk; an array's storage is not.
        bytes.withContiguousStorageIfAvailable { unsafe characters($0.span) } ?? characters(Array(bytes).span)
    }

    private static func characters(_ bytes: Span<UInt8>) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: length(bytes.count)) { unsafe $1 = write(bytes, into: $0) }
    }

    /// The number of characters that encode a number of bytes.
    private static func length(_ byteCount: Int) -> Int { (byteCount * 4 + 2) / 3 }

    /// Writes the encoding, for which there must be room, and returns its length.
    private static func write(_ bytes: Span<UInt8>, into out: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = length(bytes.count)
        precondition(out.count >= count, "there is no room for the characters")
        return unsafe alphabet.withUnsafeBufferPointer { alphabet in
            var (bits, bitCount, at) = (UInt32(0), UInt32(0), 0)
            for i in bytes.indices {
                bits = bits << 8 | UInt32(bytes[i])
                bitCount &+= 8
                while bitCount >= 6 {
                    bitCount &-= 6
                    unsafe out[at] = alphabet[Int(bits >> bitCount & 63)]
                    at &+= 1
                }
            }
            if bitCount > 0 { unsafe out[at] = alphabet[Int(bits << (6 &- bitCount) & 63)] }
            return count
        }
    }

    /// The bytes, or nil if a character is outside the alphabet, the length is impossible, or unused bits are not zero,
    /// so that every byte string has exactly one encoding.
    ///
    /// - Parameter text: the encoding.
    /// - Returns: the bytes, or nil.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(characters: Array(text.utf8))
    }

    /// The bytes of an encoding in ASCII; nil as ``decode(_:)`` has it.
    ///
    /// - Parameter characters: the encoding.
    /// - Returns: the bytes, or nil.
    public static func decode(characters: [UInt8]) -> [UInt8]? {
        var out: [UInt8] = []
        out.reserveCapacity(characters.count * 3 / 4)
        let values = values
        var bits: UInt32 = 0
        var bitCount = 0
        for character in characters {
            let value = values[Int(character)]
            guard value != 0xff else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        guard bitCount < 6, bits & ((1 << UInt32(bitCount)) - 1) == 0 else { return nil }
        return out
    }
}
