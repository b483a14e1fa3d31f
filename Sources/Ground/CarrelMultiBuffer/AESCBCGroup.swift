// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelThreads
#if canImport(CIPSecMB)
    import CIPSecMB
#endif

/// AES-128 in CBC mode over several messages concurrently (NIST SP 800-38A §6.2).
///
/// A block of CBC waits for the block before it, so one message leaves most of the processor idle. Parallel messages do not wait
/// for each other: on x86-64 the Intel Multi-Buffer library encrypts up to 16 in about the time of one. Elsewhere they are
/// encrypted one after another.
package enum AESCBCGroup {
    /// A message of whole blocks, encrypted in place. The caller adds the padding.
    @safe
    package struct Message {
        let key: Secret
        let iv: [UInt8]
        let bytes: UnsafeMutableRawBufferPointer

        /// A message under a key and an initialization vector of 16 bytes each. The bytes must not move until
        /// ``AESCBCGroup/encrypt(_:)`` returns. Throws `keyLength`, `ivLength`, or `length` unless the bytes are whole blocks.
        package init(key: Secret, iv: [UInt8], bytes: UnsafeMutableRawBufferPointer) throws(CryptoError) {
            guard key.count == 16 else { throw CryptoError(.keyLength, "an AES-128 key has 16 bytes") }
            guard iv.count == 16 else { throw CryptoError(.ivLength, "an AES-CBC initialization vector has 16 bytes") }
            guard bytes.count & 15 == 0 else { throw CryptoError(.length, "the plain text does not end with a whole block") }
            self.key = key
            self.iv = iv
            unsafe self.bytes = bytes
        }
    }

    /// Encrypts each message in place. Throws `refused` when the library does, and then no message may be used.
    package static func encrypt(_ messages: [Message]) throws(CryptoError) {
        #if canImport(CIPSecMB)
            if messages.count > 1 { return try MultiBuffer.encrypt(messages) }
        #endif
        for message in messages { try encryptAlone(message) }
    }

    private static func encryptAlone(_ message: Message) throws(CryptoError) {
        var context = try CipherContext(cbcKey: message.key, iv: message.iv, encrypt: true)
        let input = unsafe RawSpan(_unsafeBytes: message.bytes)
        let target = unsafe message.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard unsafe context.transform(input, into: target) == message.bytes.count else {
            throw CryptoError(.refused, "the cipher failed")
        }
    }
}

#if canImport(CIPSecMB)
    /// The Multi-Buffer library with memory for a group's keys, used by one thread at a time.
    @safe
    private struct MultiBuffer: @unchecked Sendable {  // one that is taken from the list has a single user
        private static let idleBuffers = Locked<[MultiBuffer]>([])

        private let manager: UnsafeMutablePointer<IMB_MGR>
        private let group: UnsafeMutableRawPointer

        private init() throws(CryptoError) {
            guard let manager = unsafe cipsecmb_manager() else {
                throw CryptoError(.refused, "the multi-buffer library does not start on this processor")
            }
            unsafe self.manager = manager
            unsafe group = SecretMemory.allocate(Int(cipsecmb_group_size))
        }

        static func encrypt(_ messages: [AESCBCGroup.Message]) throws(CryptoError) {
            let buffer: MultiBuffer
            if let idleBuffer = idleBuffers.withLock({ $0.popLast() }) { buffer = idleBuffer } else { buffer = try MultiBuffer() }
            defer { idleBuffers.withLock { $0.append(buffer) } }
            var remainder = messages[...]
            while !remainder.isEmpty {
                let part = remainder.prefix(Int(cipsecmb_most))
                guard buffer.encrypt(part) else { throw CryptoError(.refused, "the multi-buffer library failed") }
                remainder = remainder[part.endIndex...]
            }
        }

        private func encrypt(_ messages: ArraySlice<AESCBCGroup.Message>) -> Bool {
            defer { unsafe SecretMemory.wipe(group, Int(cipsecmb_group_size)) }
            for message in messages {
                guard let bytes = unsafe message.bytes.baseAddress, unsafe message.bytes.count > 0 else { continue }
                message.key.withBytes { key in
                    unsafe key.withUnsafeBytes { key in
                        guard let key = key.baseAddress else { return }
                        unsafe cipsecmb_add(manager, group, key, message.iv, bytes, message.bytes.count)
                    }
                }
            }
            return unsafe cipsecmb_encrypt(manager, group) == 1
        }
    }
#endif
