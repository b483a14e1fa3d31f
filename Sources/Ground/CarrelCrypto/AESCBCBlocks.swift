// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads

/// AES-256 in CBC mode, decrypting whole blocks from any position in a message (NIST SP 800-38A §6.2).
///
/// The padding is left on: formats differ in it. Any number of threads may use one value concurrently.
package final class AESCBCBlocks: Sendable {
    /// Bytes of a block.
    package static let blockSize = 16

    private let key: Secret
    /// An idle context: expanding the key costs more than a small range.
    private let idle = Locked<CipherContext?>(nil)

    /// - Parameter key: 32 bytes.
    /// - Throws: `keyLength`.
    package init(key: Secret) throws(CryptoError) {
        guard key.count == 32 else { throw CryptoError(.keyLength, "an AES-256 key has 32 bytes") }
        self.key = key
    }

    /// Decrypts blocks and appends the requested part.
    ///
    /// - Parameters:
    ///   - cipher: the block before the first requested one (or the initialization vector), then at least one block.
    ///   - skipped: the number of leading bytes to skip, 0...15.
    ///   - dropped: the number of trailing bytes to drop, 0...15.
    ///   - out: receives the bytes.
    /// - Throws: `length` if the cipher text is not whole blocks, `refused`.
    package func decrypt(
        _ cipher: RawSpan,
        skipping skipped: Int = 0,
        dropping dropped: Int = 0,
        into out: inout [UInt8]
    ) throws(CryptoError) {
        let size = Self.blockSize
        let count = cipher.byteCount - size
        guard count >= size, count % size == 0, 0..<size ~= skipped, 0..<size ~= dropped, skipped + dropped <= count else {
            throw CryptoError(.length, "the cipher text is not whole blocks")
        }
        var context = try context(iv: [UInt8](copying: cipher.extracting(0..<size)))
        // whole blocks are decrypted into place; partial blocks through a separate buffer
        let first = skipped == 0 ? 0 : size
        let last = dropped == 0 ? count : max(first, count - size)
        var isDone = true
        if first > 0 {
            let block = Self.transform(cipher.extracting(size..<2 * size), &context)
            isDone = block.count == size
            out += block.prefix(count == size ? size - dropped : size).dropFirst(skipped)
        }
        if last > first {
            let input = cipher.extracting(size + first..<size + last)
            isDone = isDone && Self.append(input, &context, to: &out)
        }
        if last < count {
            let block = Self.transform(cipher.extracting(size + last..<size + count), &context)
            isDone = isDone && block.count == size
            out += block.prefix(size - dropped)
        }
        guard isDone else { throw CryptoError(.refused, "the cipher failed") }
        var spare: CipherContext? = consume context
        idle.withLock { swap(&$0, &spare) }
    }

    private static func transform(_ input: RawSpan, _ context: inout CipherContext) -> [UInt8] {
        var out: [UInt8] = []
        return append(input, &context, to: &out) ? out : []
    }

    /// Whether the cipher took the blocks and gave as many.
    private static func append(_ input: RawSpan, _ context: inout CipherContext, to out: inout [UInt8]) -> Bool {
        var writtenCount: Int?
        out.append(addingCapacity: input.byteCount) { (room: inout OutputSpan<UInt8>) in
            unsafe room.withUnsafeMutableBufferPointer { room, filled in
                writtenCount = unsafe context.transform(input, into: room.baseAddress.map { unsafe $0 + filled })
                filled += writtenCount ?? 0
            }
        }
        return writtenCount == input.byteCount
    }

    /// A cipher that begins after a block.
    private func context(iv: [UInt8]) throws(CryptoError) -> CipherContext {
        if var context = idle.withLock({ $0.take() }) {
            try context.restart(iv: iv)
            return context
        }
        var context = try CipherContext(cbcKey: key, iv: iv, encrypt: false)
        context.leavePadding()
        return context
    }
}
