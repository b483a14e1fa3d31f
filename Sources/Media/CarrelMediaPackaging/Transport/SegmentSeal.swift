// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Encrypts one segment as a whole on its way into a file: AES-128 in CBC with padding (RFC 8216 §5.2).
struct SegmentSeal: ~Copyable {
    private var cipher: AESStream
    /// Bytes that do not make a block yet.
    private var rest: [UInt8] = []

    init(key: Secret, iv: AESBlock) throws(CryptoError) {
        cipher = try AESStream(.chainedEncrypt, key: key)
        cipher.start(iv)
    }

    /// The encrypted whole blocks of everything so far.
    mutating func update(_ bytes: RawSpan) -> [UInt8] {
        var out = rest
        out.append(copying: bytes)
        let whole = out.count - out.count % 16
        rest = Array(out[whole...])
        out.removeSubrange(whole...)
        encrypt(&out)
        return out
    }

    /// The last block, with its padding (RFC 5652 §6.3).
    mutating func finish() -> [UInt8] {
        var out = rest
        let padding = 16 - out.count
        out += [UInt8](repeating: UInt8(padding), count: padding)
        rest = []
        encrypt(&out)
        return out
    }

    private mutating func encrypt(_ bytes: inout [UInt8]) {
        let count = bytes.count
        var elements = bytes.mutableSpan
        var mutable = unsafe elements.mutableBytes
        cipher.apply(to: &mutable, in: 0..<count)
    }
}
