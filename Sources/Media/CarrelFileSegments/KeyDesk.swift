// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelTS
import CarrelThreads

/// Requests keys from threads that may block, each key once.
final class KeyDesk: Sendable {
    private struct Name: Hashable {
        var id: [UInt8]?
        var content: String?
        var parity: KeyParity
    }

    private let source: any ContentKeySource
    private let clock: any WallClock
    private let grants = Locked<[Name: ContentKeyGrant]>([:])

    /// Keys that are kept, at most.
    private static let limit = 1024

    init(_ source: some ContentKeySource, _ clock: any WallClock) {
        self.source = source
        self.clock = clock
    }

    /// The key for packets of a parity: by the ID in the message, by its content ID, or as track 0 (even) or 1 (odd).
    ///
    /// - Parameters:
    ///   - parity: the parity of the packets.
    ///   - message: the message in force; nil if there is none.
    /// - Returns: the key.
    /// - Throws: `missingKey`, `refusedKey`; `expiredKey` if it has expired.
    func key(_ parity: KeyParity, _ message: KeyMessage?) throws -> Secret {
        let name = Name(id: message?.keyID(parity), content: message?.contentID, parity: parity)
        let grant = try grants.withLock { $0[name] } ?? ask(name)
        try grant.end.check(at: clock.now, "key for \(Self.words(name))")
        return grant.key
    }

    private static func words(_ name: Name) -> String {
        name.id.map { "key id \(Hex.encode($0))" } ?? "the \(name.parity) packets"
    }

    private func ask(_ name: Name) throws -> ContentKeyGrant {
        var names: [ContentKeyName] = []
        if let id = name.id { names.append(.id(id)) }
        if let content = name.content, !content.isEmpty { names.append(.content(content)) }
        names.append(.track(name.parity == .even ? 0 : 1))
        let (source, requestedNames) = (source, names)
        let grant = try BlockingWork.wait { try await ContentKeys.ask(for: requestedNames, Self.words(name), source) }
        guard let grant else { throw MediaError(.unavailable, "there are too many open files") }
        try grant.checkPictures(nil, Self.words(name))
        grants.withLock { grants in
            if grants.count >= Self.limit { grants = [:] }
            grants[name] = grant
        }
        return grant
    }
}
