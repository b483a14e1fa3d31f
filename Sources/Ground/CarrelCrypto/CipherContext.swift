// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// One OpenSSL cipher at work. Freeing it wipes the expanded key.
@safe
package struct CipherContext: ~Copyable, @unchecked Sendable {  // the context has one owner
    let context: OpaquePointer

    /// - Throws: `refused` if OpenSSL does not take the cipher.
    init(_ cipher: OpaquePointer, key: Secret, iv: [UInt8]?, encrypt: Bool) throws(CryptoError) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw CryptoError(.refused, "the cipher has no memory") }
        unsafe EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        let status = key.withBytes { key in
            unsafe key.withUnsafeBytes { key in
                let key = unsafe key.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe EVP_CipherInit_ex2(context, cipher, key, iv, encrypt ? 1 : 0, nil)
            }
        }
        guard status == 1 else {
            unsafe EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
            throw CryptoError(.refused, "the cipher was refused")
        }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
    }

    /// Disables padding: only whole blocks are processed.
    mutating func leavePadding() { unsafe EVP_CIPHER_CTX_set_padding(context, 0) }

    /// Starts again with the same key.
    mutating func restart(iv: [UInt8]) throws(CryptoError) {
        guard unsafe EVP_CipherInit_ex2(context, nil, nil, iv, -1, nil) == 1 else {
            ERR_clear_error()
            throw CryptoError(.refused, "the cipher was refused")
        }
    }

    /// Appends what `input` gives, which must be no more than `room` bytes; they must be free in `out`.
    mutating func update(_ input: RawSpan, into out: inout OutputRawSpan, room: Int) -> Bool {
        precondition(out.freeCapacity >= room, "the output has no room")
        return unsafe out.withUnsafeMutableBytes { buffer, filled in
            unsafe input.withUnsafeBytes { input in
                guard var source = unsafe input.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return true }
                var empty: UInt8 = 0
                var remaining = input.count
                while remaining > 0 {
                    let step = min(remaining, 1 << 30)  // the library counts in 32 bits
                    var writtenCount: CInt = 0
                    let status: CInt
                    if let target = buffer.baseAddress {
                        let target = unsafe (target + filled).assumingMemoryBound(to: UInt8.self)
                        status = unsafe EVP_CipherUpdate(context, target, &writtenCount, source, CInt(step))
                    } else {
                        status = unsafe EVP_CipherUpdate(context, &empty, &writtenCount, source, CInt(step))
                    }
                    guard status == 1 else {
                        ERR_clear_error()
                        return false
                    }
                    filled += Int(writtenCount)
                    unsafe source += step
                    remaining -= step
                }
                return true
            }
        }
    }

    /// Appends what the cipher still holds; `room` bytes must be free in `out`.
    mutating func finish(into out: inout OutputRawSpan, room: Int) -> Bool {
        precondition(out.freeCapacity >= room, "the output has no room")
        return unsafe out.withUnsafeMutableBytes { buffer, filled in
            guard let target = buffer.baseAddress else { return false }
            var writtenCount: CInt = 0
            let last = unsafe (target + filled).assumingMemoryBound(to: UInt8.self)
            guard unsafe EVP_CipherFinal_ex(context, last, &writtenCount) == 1 else {
                ERR_clear_error()
                return false
            }
            filled += Int(writtenCount)
            return true
        }
    }

    /// Transforms `input` whole into `target` and returns the bytes written, or nil if the cipher refuses.
    package mutating func transform(_ input: RawSpan, into target: UnsafeMutablePointer<UInt8>?) -> Int? {
        unsafe input.withUnsafeBytes { input in
            var writtenCount: CInt = 0
            let source = unsafe input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard let count = CInt(exactly: input.count),
                unsafe EVP_CipherUpdate(context, target, &writtenCount, source, count) == 1
            else {
                ERR_clear_error()
                return nil
            }
            return Int(writtenCount)
        }
    }
}
