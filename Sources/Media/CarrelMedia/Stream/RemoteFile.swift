// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelThreads

/// A file of an HTTP server, read by byte ranges (RFC 9110 §14) with a small cache of blocks; never loaded as a whole, unless it
/// is small and the server has no ranges.
///
/// Reading waits for the server: only on threads that may block, never on those that run tasks.
package final class RemoteFile: ByteReader, Sendable {
    /// Bytes of a block of the cache, and blocks in it.
    package static let blockLength: Int64 = 64 << 10
    package static let blockLimit = 64
    /// Bytes of a file that is taken whole from a server without ranges.
    package static let wholeLimit = 1 << 20
    /// Blocks of one request.
    private static let requestBlocks = 16

    /// Blocks by their number, and how recently each was read.
    private struct Cache {
        var blocks: [Int64: (bytes: [UInt8], use: Int)] = [:]
        var uses = 0
        /// Bytes that the server sent.
        var received: Int64 = 0

        /// Reads a block of the cache, and makes it the last to leave.
        mutating func block(_ number: Int64) -> [UInt8]? {
            guard let found = blocks[number] else { return nil }
            uses += 1
            blocks[number]?.use = uses
            return found.bytes
        }

        mutating func add(_ number: Int64, _ bytes: [UInt8]) {
            if blocks[number] == nil, blocks.count >= RemoteFile.blockLimit,
                let oldest = blocks.min(by: { $0.value.use < $1.value.use })
            {
                blocks[oldest.key] = nil
            }
            uses += 1
            blocks[number] = (bytes, uses)
        }
    }

    private let url: String
    private let resource: RangedResource
    /// All bytes, where the server has no ranges.
    private let whole: [UInt8]?
    private let cache: Locked<Cache>

    package let length: Int64

    /// The error for a request that fails.
    private static func failure(_ url: String, _ what: String) -> MediaError {
        MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)): \(what)")
    }

    /// Opens a file: requests its first block.
    ///
    /// - Parameters:
    ///   - url: absolute.
    ///   - client: sends the requests.
    /// - Throws: `unavailable` if the server has no such file; `noRanges` if it serves no ranges of a file of more than 1 MiB;
    ///   the errors of the client.
    package init(_ url: String, client: some MediaHTTPClient) async throws {
        var resource = RangedResource(url, client, changed: Self.failure(url, "the file has changed while it was read"))
        let response = try await resource.request(0..<Self.blockLength, limit: Self.wholeLimit)
        var cache = Cache()
        cache.received = Int64(response.body.count)
        if response.status == 200 {
            guard response.body.count <= Self.wholeLimit else { throw resource.noRanges }
            (whole, length) = (response.body, Int64(response.body.count))
        } else {
            let head = try resource.open(with: response, requested: Self.blockLength)
            (whole, length) = (nil, resource.length)
            cache.add(0, head)
        }
        self.resource = resource
        self.url = url
        self.cache = Locked(cache)
    }

    /// Bytes that the server sent so far.
    package var receivedBytes: Int64 { cache.withLock { $0.received } }

    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        let range = range.clamped(to: 0..<length)
        guard !range.isEmpty else { return [] }
        if let whole { return Array(whole[Int(range.lowerBound)..<Int(range.upperBound)]) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var at = range.lowerBound
        while at < range.upperBound {
            let number = at / Self.blockLength
            let start = number * Self.blockLength
            let block = try block(number, upTo: (range.upperBound - 1) / Self.blockLength)
            bytes += block[Int(at - start)..<Int(min(range.upperBound - start, Int64(block.count)))]
            at = start + Int64(block.count)
        }
        return bytes
    }

    /// Returns a block, and loads missing blocks after it, up to `last`, in the same request.
    private func block(_ number: Int64, upTo last: Int64) throws -> [UInt8] {
        if let block = cache.withLock({ $0.block(number) }) { return block }
        let end = cache.withLock { cache in
            var end = number + 1
            while end <= last, end - number < Self.requestBlocks, cache.blocks[end] == nil { end += 1 }
            return end
        }
        let range = number * Self.blockLength..<min(length, end * Self.blockLength)
        let bytes = try load(range)
        return cache.withLock { cache in
            cache.received += Int64(bytes.count)
            var first: [UInt8] = []
            // in reverse order, so that the first block is evicted last
            for place in stride(from: end - 1, through: number, by: -1) {
                let start = Int((place - number) * Self.blockLength)
                first = Array(bytes[start..<min(bytes.count, start + Int(Self.blockLength))])
                cache.add(place, first)
            }
            return first
        }
    }

    /// Requests a range, and waits for it; the end of the work that reads ends the request.
    private func load(_ range: Range<Int64>) throws -> [UInt8] {
        guard let bytes = try BlockingWork.wait(for: { [resource] in try await resource.read(range) }) else {
            throw Self.failure(url, "there are too many open files")
        }
        return bytes
    }
}
