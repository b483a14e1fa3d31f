// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource
import CarrelPresentation
import CarrelTS

/// The keys that the beginning of a scrambled transport stream names (DVB-CISSA, key messages).
enum ScrambledKeys {
    /// Bytes in which scrambled packets and key messages are looked for.
    private static let limit = 1 << 20

    /// Reads the beginning of a transport stream.
    ///
    /// - Parameters:
    ///   - stream: the bytes.
    ///   - builder: gets the protection and the keys.
    /// - Returns: whether packets are scrambled; false for other formats.
    /// - Throws: ``ProxyError``.
    static func add(_ stream: FirstBytes, to builder: inout PlanBuilder) async throws -> Bool {
        var head: [UInt8] = []
        while head.count < limit, let piece = try await stream.next() {
            head += piece
            guard ScrambledSegment.isTransportStream(head) else { return false }
            if ScrambledSegment.isScrambled(head) { return try add(head, to: &builder) }
        }
        return false
    }

    /// Adds the keys of a stream by its first bytes, of which some are scrambled.
    ///
    /// - Returns: true.
    static func add(_ head: [UInt8], to builder: inout PlanBuilder) throws(ProxyError) -> Bool {
        builder.add(.scrambledTransportStream)
        var bytes = head
        var descrambler = TransportStreamDescrambler()
        let packets = bytes.count / TransportStream.packetLength * TransportStream.packetLength
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        let outcome = try? descrambler.descramble(&span, in: 0..<packets)
        guard case .needsKey(let parity, let message, _) = outcome else { return true }
        for parity in [parity, parity == .even ? .odd : .even] {
            var names: [ContentKeyName] = []
            if let id = message?.keyID(parity) { names.append(.id(id)) }
            if let content = message?.contentID, !content.isEmpty { names.append(.content(content)) }
            names.append(.track(parity == .even ? 0 : 1))
            // one key may serve both parities
            guard names.count > 1 || builder.plan.keys.isEmpty else { continue }
            try builder.add(PlannedKey(names))
        }
        return true
    }
}
