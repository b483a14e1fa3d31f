// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// AES-128 or AES-256 under one content key, which changes bytes in place: the ciphers of Common Encryption, DCF, HLS and
/// transport streams (NIST SP 800-38A §6.2, §6.5; ISO/IEC 23001-7 §9, §10).
///
/// One value expands its key once and serves any number of messages, one after another. `start` begins a message; each `apply`
/// continues after the bytes of the previous one. No call allocates. Altered bytes are not detected.
///
/// ```swift
/// var cipher = try AESStream(.counter, key: key)
/// cipher.start(iv)
/// cipher.apply(to: &sample, in: 16..<4000)
/// ```
package struct AESStream: ~Copyable, Sendable {
    /// The operation on the bytes.
    package enum Mode: Sendable, Hashable {
        /// CTR; to encrypt and to decrypt are the same. The low 64 bits of the block count and wrap without a carry.
        case counter
        /// CBC without padding, encrypting whole blocks.
        case chainedEncrypt
        /// CBC without padding, decrypting whole blocks.
        case chainedDecrypt
    }

    /// The operation on the bytes.
    package let mode: Mode
    private var context: CipherContext
    /// The state of the counter: the block of the next byte, and bytes of it that are used up.
    private var counter = AESBlock(high: 0, low: 0)
    private var used = 0
    private var gathered: PatternBuffer

    /// Expands a key.
    ///
    /// - Parameters:
    ///   - mode: the operation.
    ///   - key: 16 or 32 bytes.
    /// - Throws: `keyLength`, or `refused` if there is no memory.
    package init(_ mode: Mode, key: Secret) throws(CryptoError) {
        context = try Self.context(mode, key)
        gathered = PatternBuffer()
        self.mode = mode
    }

    private static func context(_ mode: Mode, _ key: Secret) throws(CryptoError) -> CipherContext {
        guard key.count == 16 || key.count == 32 else { throw CryptoError(.keyLength, "a content key has 16 or 32 bytes") }
        let iv = [UInt8](repeating: 0, count: 16)
        guard mode == .counter else {
            var context = try CipherContext(cbcKey: key, iv: iv, encrypt: mode == .chainedEncrypt)
            context.leavePadding()
            return context
        }
        let openSSL = OpenSSL.shared
        let cipher = unsafe key.count == 32 ? openSSL.aes256Counter : openSSL.aes128Counter
        return try unsafe CipherContext(cipher, key: key, iv: iv, encrypt: true)
    }

    /// Begins a message.
    ///
    /// - Parameter iv: its initialization vector, or the counter block of its first byte.
    package mutating func start(_ iv: AESBlock) {
        counter = iv
        used = 0
        context.restart(iv)
    }

    /// Encrypts or decrypts bytes in place.
    ///
    /// - Parameters:
    ///   - bytes: the buffer.
    ///   - range: the range to change; in CBC only its whole blocks are changed. Traps if it exceeds `bytes`.
    package mutating func apply(to bytes: inout MutableRawSpan, in range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "the range lies outside the bytes")
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            unsafe apply(start + range.lowerBound, range.count)
        }
    }

    /// Encrypts or decrypts the pattern's blocks of a protected range in place; other blocks are skipped without advancing the
    /// cipher.
    ///
    /// - Parameters:
    ///   - bytes: the buffer.
    ///   - range: a protected range; the pattern starts again with it. Traps if it exceeds `bytes`.
    ///   - pattern: the pattern of encrypted blocks.
    package mutating func apply(to bytes: inout MutableRawSpan, in range: Range<Int>, pattern: BlockPattern) {
        guard !pattern.isWhole else { return apply(to: &bytes, in: range.lowerBound..<range.upperBound - range.count % 16) }
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "the range lies outside the bytes")
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            let blocks = range.count / 16
            let start = unsafe base + range.lowerBound
            let turn = pattern.crypt + pattern.skip
            var first = 0
            // the encrypted blocks of many turns side by side: one call of the cipher for all of them
            while first < blocks {
                let (count, next) = unsafe gathered.collect(from: start, first: first, blocks: blocks, pattern.crypt, turn)
                unsafe apply(gathered.start, count * 16)
                unsafe gathered.spread(to: start, first: first, count: count, pattern.crypt, turn)
                first = next
            }
        }
    }

    private mutating func apply(_ start: UnsafeMutableRawPointer, _ count: Int) {
        guard mode == .counter else { return unsafe context.transform(start, count & ~15) }
        var start = unsafe start
        var remaining = count
        while remaining > 0 {
            // the library carries into the high half; the standard does not
            let room = UInt64.max - counter.low
            let step = room >= 1 << 50 ? remaining : min(remaining, Int(room + 1) * 16 - used)
            unsafe context.transform(start, step)
            let (blocks, remainder) = (used + step).quotientAndRemainder(dividingBy: 16)
            let wraps = UInt64(blocks) > room
            counter = counter.advanced(by: UInt64(blocks))
            used = remainder
            if wraps { context.restart(counter) }
            unsafe start += step
            remaining -= step
        }
    }
}

/// Blocks of a pattern side by side, 4 KiB at a time.
@safe
struct PatternBuffer: ~Copyable, @unchecked Sendable {  // the memory has one owner
    let start: UnsafeMutableRawPointer
    private static let capacity = 256

    init() {
        unsafe start = .allocate(byteCount: Self.capacity * 16, alignment: 16)
    }

    deinit {
        unsafe start.deallocate()
    }

    /// Copies encrypted blocks from the block `first` on, which begins a turn; returns how many, and the block of the next turn.
    func collect(from: UnsafeRawPointer, first: Int, blocks: Int, _ crypt: Int, _ turn: Int) -> (count: Int, next: Int) {
        var count = 0
        var at = first
        while at < blocks, count + crypt <= Self.capacity {
            let run = min(crypt, blocks - at)
            unsafe (start + count * 16).copyMemory(from: from + at * 16, byteCount: run * 16)
            count += run
            at += turn
        }
        return (count, at)
    }

    func spread(to: UnsafeMutableRawPointer, first: Int, count: Int, _ crypt: Int, _ turn: Int) {
        var blockOffset = 0
        var at = first
        while blockOffset < count {
            let run = min(crypt, count - blockOffset)
            unsafe (to + at * 16).copyMemory(from: start + blockOffset * 16, byteCount: run * 16)
            blockOffset += run
            at += turn
        }
    }
}

extension CipherContext {
    fileprivate mutating func restart(_ iv: AESBlock) {
        var bytes = (iv.high.bigEndian, iv.low.bigEndian)
        let status = unsafe withUnsafeBytes(of: &bytes) { bytes in
            unsafe EVP_CipherInit_ex2(context, nil, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), -1, nil)
        }
        precondition(status == 1, "the cipher does not start again")
    }

    /// Encrypts or decrypts `count` bytes in place.
    fileprivate mutating func transform(_ start: UnsafeMutableRawPointer, _ count: Int) {
        var at = unsafe start.assumingMemoryBound(to: UInt8.self)
        var remaining = count
        while remaining > 0 {
            let step = min(remaining, 1 << 30)  // the library counts in 32 bits
            var writtenCount: CInt = 0
            let status = unsafe EVP_CipherUpdate(context, at, &writtenCount, at, CInt(step))
            precondition(status == 1 && Int(writtenCount) == step, "the cipher failed")
            unsafe at += step
            remaining -= step
        }
    }
}
