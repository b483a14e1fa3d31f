/// AES-256 in counter mode (NIST SP 800-38A §6.5), with the counter of GCM: 12 bytes of nonce and 4 that count from 2 on. It says
/// nothing of whether the bytes were altered: whoever uses it authenticates them.
public enum AESCounter {
    /// Encrypts bytes, or decrypts them: both are the same.
    ///
    /// - Parameters:
    ///   - bytes: the plain text, or the cipher text.
    ///   - key: 32 bytes.
    ///   - nonce: 12 bytes, never twice under one key.
    /// - Returns: as many bytes.
    /// - Throws: `keyLength`, `ivLength`, or `refused`.
    public static func apply(to bytes: RawSpan, key: Secret, nonce: some Collection<UInt8>) throws(CryptoError) -> [UInt8] {
        guard key.count == 32 else { throw CryptoError(.keyLength, "an AES-256 key has 32 bytes") }
        guard nonce.count == 12 else { throw CryptoError(.ivLength, "the nonce of the counter mode has 12 bytes") }
        let counter = nonce + [0, 0, 0, 2]
        var context = try unsafe CipherContext(OpenSSL.shared.aes256Counter, key: key, iv: Array(counter), encrypt: true)
        let count = bytes.byteCount
        var done = false
        let result = [UInt8](capacity: count) { (out: inout OutputSpan<UInt8>) in
            unsafe out.withUnsafeMutableBufferPointer { buffer, filled in
                done = unsafe context.transform(bytes, into: buffer.baseAddress) == count
                filled = done ? count : 0
            }
        }
        guard done else { throw CryptoError(.refused, "the cipher failed") }
        return result
    }
}
