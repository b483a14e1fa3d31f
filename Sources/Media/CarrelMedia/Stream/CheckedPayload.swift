// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelThreads

/// Bytes of a file, and their offset.
package struct PlacedPiece: Sendable {
    let start: Int64
    let bytes: [UInt8]
}

/// The clear bytes of a DCF's object whose ciphertext is checked by its tags. Whole blocks of 64 KiB are read and checked; two clear
/// ones and a part of the tags are cached, at most 384 KiB.
final class CheckedPayload: Sendable {
    private struct Cache {
        /// The clear bytes of blocks that were read in part, the newest last.
        var blocks: [(number: Int64, bytes: [UInt8])] = []
        /// Consecutive tags, and the block of the first.
        var tags: (first: Int64, bytes: [UInt8]) = (0, [])
        var isClosed = false
    }

    private let payload: EncryptedPayload
    private let table: PayloadTagTable
    private let check: PayloadTagCheck
    private let cache = Locked(Cache())

    private static let blockLimit = 2
    /// Blocks whose tags are read together: 256 KiB, for 1 GiB of content.
    private static let tagWindow: Int64 = 1 << 14
    private static let piece: Int64 = 1 << 16

    /// Reads the object's head, whose digest the key of the tags contains.
    ///
    /// - Parameters:
    ///   - payload: the object's payload.
    ///   - table: its tags.
    ///   - key: the content key.
    ///   - source: the file.
    ///   - piece: bytes that were read before; their tags are not read again.
    /// - Throws: the errors of the source; `media.altered` if an empty content was changed.
    init(_ payload: EncryptedPayload, _ table: PayloadTagTable, key: Secret, source: some MediaSource, _ piece: PlacedPiece?)
        async throws
    {
        var digest = SHA256.Stream()
        var at = table.head.lowerBound
        while at < table.head.upperBound {
            let end = min(table.head.upperBound, at + Self.piece)
            let bytes = try await source.read(at..<end)
            digest.update(bytes.rawSpan)
            at = end
        }
        self.payload = payload
        self.table = table
        check = PayloadTagCheck(payload, key: key, headDigest: digest.finish())
        let tags = table.range(of: 0..<min(table.count, Self.tagWindow))
        if let piece, piece.start <= tags.lowerBound, tags.upperBound <= piece.start + Int64(piece.bytes.count) {
            let start = Int(tags.lowerBound - piece.start)
            let bytes = Array(piece.bytes[start..<start + tags.count])
            cache.withLock { $0.tags = (0, bytes) }
        }
        // nothing of an empty content is read later
        if payload.clearLength == 0 { _ = try await verified(0..<1, source) }
    }

    /// Drops the cached bytes; later ones are not cached.
    func close() {
        cache.withLock { cache in
            cache = Cache()
            cache.isClosed = true
        }
    }

    /// Reads clear bytes.
    ///
    /// - Parameters:
    ///   - clear: a range of the clear bytes, not empty.
    ///   - source: the file.
    ///   - key: the content key.
    /// - Returns: the bytes.
    /// - Throws: `media.altered` if a block was changed or moved, or is missing; the errors of the source; `Malformed` if the padding
    ///   is wrong.
    func read(_ clear: Range<Int64>, from source: some MediaSource, key: Secret) async throws -> [UInt8] {
        var result = cached(clear)
        let rest = clear.lowerBound + Int64(result.count)..<clear.upperBound
        if rest.isEmpty { return result }
        let asked = check.blocks(holding: rest)
        let whole = payload.clamped(
            asked.lowerBound * PayloadTags.blockLength..<asked.upperBound * PayloadTags.blockLength
        )
        // the padding may be in a block of its own, which the decryption of the last clear byte reads too
        let blocks = check.blocks(holding: whole)
        var bytes = try await verified(blocks, source)
        do throws(DCFError) { try check.trim(&bytes, of: blocks, to: whole) } catch { throw MediaError(.altered, error.message) }
        var decrypted = try payload.decrypt(bytes, holding: whole, key: key)
        if whole == clear { return decrypted }
        // a later read as a rule begins with the rest of a block
        if rest.lowerBound > whole.lowerBound { keep(decrypted, 0, from: whole.lowerBound) }
        if rest.upperBound < whole.upperBound {
            let last = Int((rest.upperBound - 1) / PayloadTags.blockLength * PayloadTags.blockLength - whole.lowerBound)
            keep(decrypted, last, from: whole.lowerBound)
        }
        decrypted.removeLast(Int(whole.upperBound - rest.upperBound))
        decrypted.removeFirst(Int(rest.lowerBound - whole.lowerBound))
        if result.isEmpty { return decrypted }
        result += decrypted
        return result
    }

    /// Reads blocks and checks them.
    private func verified(_ blocks: Range<Int64>, _ source: some MediaSource) async throws -> [UInt8] {
        let tags = try await tags(of: blocks, source)
        let bytes = try await source.read(check.range(of: blocks))
        do throws(DCFError) { try check.verify(blocks, bytes.rawSpan, tags: tags.rawSpan) } catch {
            throw MediaError(.altered, error.message)
        }
        return bytes
    }

    /// The first bytes of a range, if they lie in a cached block.
    private func cached(_ clear: Range<Int64>) -> [UInt8] {
        let number = clear.lowerBound / PayloadTags.blockLength
        let start = number * PayloadTags.blockLength
        return cache.withLock { cache in
            guard let block = cache.blocks.first(where: { $0.number == number }) else { return [] }
            let from = Int(clear.lowerBound - start)
            guard from < block.bytes.count else { return [] }
            return Array(block.bytes[from..<min(block.bytes.count, Int(clear.upperBound - start))])
        }
    }

    /// Caches a block.
    private func keep(_ bytes: [UInt8], _ offset: Int, from start: Int64) {
        let number = (start + Int64(offset)) / PayloadTags.blockLength
        let block = Array(bytes[offset..<min(bytes.count, offset + Int(PayloadTags.blockLength))])
        cache.withLock { cache in
            guard !cache.isClosed else { return }
            cache.blocks.removeAll { $0.number == number }
            if cache.blocks.count == Self.blockLimit { cache.blocks.removeFirst() }
            cache.blocks.append((number, block))
        }
    }

    /// The tags of blocks; reads the tags of up to 16,384 blocks in one request.
    private func tags(of blocks: Range<Int64>, _ source: some MediaSource) async throws -> [UInt8] {
        var tags: [UInt8] = []
        var next = blocks.lowerBound
        while next < blocks.upperBound {
            let first = next / Self.tagWindow * Self.tagWindow
            let end = min(check.blockCount, first + Self.tagWindow)
            var window = cache.withLock { $0.tags.first == first ? $0.tags.bytes : [] }
            if window.isEmpty {
                window = try await source.read(table.range(of: first..<end))
                guard window.count == (first..<end).count * PayloadTags.tagLength else {
                    throw MediaError(.altered, "tags of the data are missing")
                }
                let read = window
                cache.withLock { if !$0.isClosed { $0.tags = (first, read) } }
            }
            let last = min(end, blocks.upperBound)
            tags += window[Int(next - first) * PayloadTags.tagLength..<Int(last - first) * PayloadTags.tagLength]
            next = last
        }
        return tags
    }
}
