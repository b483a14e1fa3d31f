// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelMP4
import CarrelTS

/// A transport stream whose packets are scrambled (DVB-CISSA), with the keys that it asks for on its way.
package struct ScrambledStream: Sendable {
    /// A key that is set before the packet at an offset.
    private struct KeyChange: Sendable {
        var offset: Int64
        var parity: KeyParity
        var key: Secret
        /// The name of the key in a message.
        var words: String
    }

    private let reader: any ByteReader & Sendable
    private var changes: [KeyChange] = []
    /// The grants with terms, each with its purpose.
    private var terms: [(words: String, grant: ContentKeyGrant)] = []
    /// The keys that were used, with the evidence from the clear packets.
    let evidence = KeyEvidence()

    private static let blockLength = Int64(TransportStream.packetLength) * 4096
    /// Changes of keys in one stream, at most.
    private static let changeLimit = 1 << 20

    /// Whether a file is a transport stream.
    package static func isTransportStream(_ reader: any ByteReader) throws -> Bool {
        let head = try reader.readAll(0..<min(377, reader.length))
        let places = [0, 188, 376].filter { $0 < head.count }
        return head.count >= 188 && places.allSatisfy { head[$0] == 0x47 }
    }

    /// Bytes of the stream.
    var length: Int64 { reader.length }

    /// Scans the stream and requests its keys: by the IDs in its key messages, by their content ID or, without one, as tracks 0
    /// (even) and 1 (odd).
    ///
    /// - Parameters:
    ///   - reader: the stream.
    ///   - source: the key source.
    /// - Throws: `missingKey`, `refusedKey`; `Malformed` with the byte of the stream.
    init?(_ reader: any ByteReader & Sendable, from source: some ContentKeySource) async throws {
        self.reader = reader
        var descrambler = TransportStreamDescrambler()
        var at: Int64 = 0
        while at < reader.length {
            var block = try reader.readAll(at..<min(reader.length, at + Self.blockLength))
            let count = block.count
            var rest = 0..<count
            while let need = try Self.run(&descrambler, &block, rest, at: at) {
                guard changes.count < Self.changeLimit else {
                    throw Malformed("stream changes its keys too often", at: Int(clamping: at))
                }
                let (words, grant) = try await Self.grant(need.parity, need.message, source)
                try grant.checkPictures(nil, words)
                terms.append((words, grant))
                let key = grant.key
                do throws(CryptoError) { try descrambler.setKey(key, for: need.parity) } catch {
                    throw MediaError(.wrongKey, "\(words): \(error.message)")
                }
                changes.append(KeyChange(offset: at + Int64(need.offset), parity: need.parity, key: key, words: words))
                rest = need.offset..<count
            }
            at += Int64(count)
        }
        // no packet is scrambled
        if changes.isEmpty { return nil }
    }

    /// Checks that its keys may be used for plain files now.
    func checkPlainOutput(at now: Instant) throws(MediaError) {
        for (words, grant) in terms { try grant.checkPlainOutput(words, at: now) }
    }

    /// Writes the clear stream, whose map no longer mentions scrambling: null packets replace key messages, so that every other
    /// packet keeps its offset.
    ///
    /// - Throws: `wrongKey` if no unit begins at a required position; the errors of the reader and the sink.
    func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws {
        var descrambler = TransportStreamDescrambler()
        var next = 0
        var at: Int64 = 0
        // packets from the beginning of a map section that ends in the next block
        var held: [UInt8] = []
        var digests: [KeyParity: [UInt8]] = [:]
        var verified: Set<KeyParity> = []
        while at < reader.length {
            let read = try reader.readAll(at..<min(reader.length, at + Self.blockLength))
            let end = at + Int64(read.count)
            at -= Int64(held.count)
            var block = held + read
            let count = block.count
            let starts = UnitStart.all(in: block.rawSpan, before: count - count % TransportStream.packetLength)
            var rest = 0..<count
            while let need = try Self.run(&descrambler, &block, rest, at: at) {
                guard next < changes.count, changes[next].offset == at + Int64(need.offset) else {
                    throw MediaError(.unavailable, "the stream has changed while it was read")
                }
                try check(starts, in: rest.lowerBound..<need.offset, block, descrambler.sectionPIDs, digests, &verified)
                let change = changes[next]
                try descrambler.setKey(change.key, for: change.parity)
                digests[change.parity] = evidence.use(change.key, change.words)
                verified.remove(change.parity)
                next += 1
                rest = need.offset..<count
            }
            try check(starts, in: rest, block, descrambler.sectionPIDs, digests, &verified)
            var done = count
            if let map = descrambler.unfinishedMap, end < reader.length, count - map < Self.blockLength { done = map }
            try sink.write(block.rawSpan.extracting(0..<done))
            held = Array(block[done...])
            at = end
            try progress(at)
        }
    }

    /// Checks the first packets of units, and notes the keys that they show to be right.
    private func check(
        _ starts: [UnitStart],
        in range: Range<Int>,
        _ block: [UInt8],
        _ sections: Set<UInt16>,
        _ digests: [KeyParity: [UInt8]],
        _ verified: inout Set<KeyParity>
    ) throws(MediaError) {
        for start in starts where range.contains(start.offset) {
            let isRight = try start.check(block.rawSpan, sections: sections)
            guard isRight, let digest = digests[start.parity], verified.insert(start.parity).inserted else { continue }
            evidence.verify(digest)
        }
    }

    /// Descrambles packets; returns the key that is missing, if one is.
    static func run(
        _ descrambler: inout TransportStreamDescrambler,
        _ block: inout [UInt8],
        _ range: Range<Int>,
        at start: Int64
    ) throws(Malformed) -> (parity: KeyParity, message: KeyMessage?, offset: Int)? {
        var elements = block.mutableSpan
        var bytes = unsafe elements.mutableBytes
        do throws(Malformed) {
            guard case .needsKey(let parity, let message, let offset) = try descrambler.descramble(&bytes, in: range) else {
                return nil
            }
            return (parity, message, offset)
        } catch {
            throw Malformed(error.what, at: Int(clamping: start) + error.offset)
        }
    }

    static func grant(
        _ parity: KeyParity,
        _ message: KeyMessage?,
        _ source: some ContentKeySource
    ) async throws(MediaError) -> (words: String, grant: ContentKeyGrant) {
        var names: [ContentKeyName] = []
        let id = message?.keyID(parity)
        if let id { names.append(.id(id)) }
        if let content = message?.contentID, !content.isEmpty { names.append(.content(content)) }
        names.append(.track(parity == .even ? 0 : 1))
        let words = id.map { "key id \(Hex.encode($0))" } ?? "the \(parity) packets"
        return (words, try await ContentKeys.ask(for: names, words, source))
    }
}
