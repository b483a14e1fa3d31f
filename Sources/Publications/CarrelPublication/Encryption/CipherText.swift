// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelThreads

/// An initialization vector and bytes encrypted with AES-256 in CBC mode, padded according to XML Encryption §5.2: the last byte
/// is the number of padding bytes, 1 to 16, and the other padding bytes are arbitrary.
///
/// A read begins one block before its range; a sequential read continues from the cached blocks. The length follows from the last
/// block, which is decrypted once.
final class CipherText: Resource {
    var link: Link { encrypted.link }
    private let encrypted: any Resource
    private let key: ContentKey
    private let state = Locked(State())

    private struct State {
        /// Bytes without the padding.
        var length: Int64?
        /// The offsets at which reads ended.
        var ends: [End] = []
    }

    /// The last blocks of a read.
    private struct End {
        /// The offset at which they begin.
        let position: Int64
        let bytes: [UInt8]
    }

    private static let block = Int64(16)
    /// The maximum number of bytes in memory in addition to the requested bytes.
    private static let pieceSize = Int64(256 << 10)
    private static let endLimit = 4

    /// - Parameters:
    ///   - encrypted: the ciphertext; closed with this resource.
    ///   - key: the publication's key.
    init(_ encrypted: any Resource, key: ContentKey) {
        self.encrypted = encrypted
        self.key = key
    }

    func close() { encrypted.close() }

    func length() async throws(ResourceError) -> Int64 {
        if let known = state.withLock({ $0.length }) { return known }
        let size = try await encryptedSize()
        let end = try await encrypted.read(size - 2 * Self.block..<size)
        guard end.count == 2 * Int(Self.block) else { throw cutOff }
        var last: [UInt8] = []
        try decrypt(end.rawSpan, 0, 0, into: &last)
        guard let padding = last.last, 1...16 ~= padding else {
            throw ResourceError(.decryption, "\"\(link.href)\" is not encrypted with this key")
        }
        let length = size - Self.block - Int64(padding)
        state.withLock { $0.length = length }
        return length
    }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let size = try await encryptedSize()
        let lower = max(0, range.lowerBound)
        var upper = min(range.upperBound, size - Self.block)
        guard lower < upper else { return }
        // only the last block has padding
        if upper > size - 2 * Self.block { upper = min(upper, try await length()) }
        var at = lower
        var piece: [UInt8] = []
        while at < upper {
            let end = min(upper, (at / Self.block * Self.block) + Self.pieceSize)
            try await read(at..<end, into: &buffer, by: &piece)
            at = end
        }
    }

    /// Decrypts a range that is in the resource, by way of a piece.
    private func read(
        _ range: Range<Int64>,
        into buffer: inout [UInt8],
        by piece: inout [UInt8]
    ) async throws(ResourceError) {
        let first = range.lowerBound / Self.block * Self.block
        let last = (range.upperBound + Self.block - 1) / Self.block * Self.block + Self.block
        piece.removeAll(keepingCapacity: true)
        piece.reserveCapacity(Int(last - first))
        if let kept = kept(from: first) { piece += kept }
        if Int64(piece.count) < last - first { try await encrypted.read(first + Int64(piece.count)..<last, into: &piece) }
        guard piece.count == Int(last - first) else { throw cutOff }
        try decrypt(
            piece.rawSpan,
            Int(range.lowerBound - first),
            Int(last - Self.block - range.upperBound),
            into: &buffer
        )
        keep(End(position: last - 2 * Self.block, bytes: Array(piece.suffix(2 * Int(Self.block)))))
    }

    private func decrypt(
        _ bytes: RawSpan,
        _ skipped: Int,
        _ dropped: Int,
        into buffer: inout [UInt8]
    ) throws(ResourceError) {
        do throws(CryptoError) {
            try key.cipher.decrypt(bytes, skipping: skipped, dropping: dropped, into: &buffer)
        } catch {
            throw ResourceError(.decryption, "\"\(link.href)\" cannot be decrypted: \(error)")
        }
    }

    /// The size of the ciphertext, which must be a vector and whole blocks.
    private func encryptedSize() async throws(ResourceError) -> Int64 {
        let size = try await encrypted.length()
        guard size >= 2 * Self.block, size % Self.block == 0 else {
            throw ResourceError(.decryption, "\"\(link.href)\" is said to be encrypted and is not, or is cut off")
        }
        return size
    }

    /// Blocks at the end of an earlier read that begin at a place or before it.
    private func kept(from position: Int64) -> ArraySlice<UInt8>? {
        state.withLock { state in
            guard
                let index = state.ends.firstIndex(where: {
                    $0.position <= position && position < $0.position + Int64($0.bytes.count)
                })
            else { return nil }
            let end = state.ends.remove(at: index)
            return end.bytes[Int(position - end.position)...]
        }
    }

    private func keep(_ end: End) {
        state.withLock { state in
            if state.ends.count == Self.endLimit { state.ends.removeFirst() }
            state.ends.append(end)
        }
    }

    private var cutOff: ResourceError { ResourceError(.decryption, "\"\(link.href)\" is cut off") }
}
