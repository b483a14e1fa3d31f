// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelStore

/// A secret that signs tickets or editions' credentials. All stored secrets verify; signed texts name their secret.
package struct SigningSecret: Sendable {
    /// The id that signed data name it by.
    package let id: UInt8
    package let secret: Secret
    /// Start of signing; for tickets, the first signed window opens then or later.
    package let signsFrom: Instant

    private static let byteCount = 32

    package init(id: UInt8, secret: Secret, signsFrom: Instant = Instant(milliseconds: 0)) {
        self.id = id
        self.secret = secret
        self.signsFrom = signsFrom
    }

    /// Reads what the database keeps, unwrapped: 32 bytes, and from when on they sign in milliseconds since 1970 (8 bytes,
    /// big-endian). The first secret of a home has no such time.
    init?(id: UInt8, stored: Secret) {
        let read = stored.withBytes { bytes -> (Secret, Instant)? in
            switch bytes.byteCount {
            case Self.byteCount: return (Secret(copying: bytes), Instant(milliseconds: 0))
            case Self.byteCount + 8:
                let from = Instant(milliseconds: Int64(bitPattern: bytes.u64(at: Self.byteCount)))
                return (Secret(copying: bytes.extracting(0..<Self.byteCount)), from)
            default: return nil
            }
        }
        guard let (secret, signsFrom) = read else { return nil }
        self.init(id: id, secret: secret, signsFrom: signsFrom)
    }

    /// Reads all secrets of a purpose.
    ///
    /// - Throws: the database's error; ``ServerError`` `server.master-key` if the master key does not unwrap them.
    package static func all(
        _ purpose: SecretStore.Signing,
        _ master: MasterKeyring.Shared,
        in transaction: any Transaction
    ) throws -> [SigningSecret] {
        try SecretStore.signing(purpose, in: transaction).map { try master.unwrap($0.id, $0.wrapped) }
    }

    /// The secrets that nothing signed in the last while: a later one began to sign before it.
    ///
    /// - Parameters:
    ///   - secrets: all secrets of a purpose.
    ///   - life: how long what they signed is valid, with the delay until all nodes know a later secret.
    ///   - now: the time.
    /// - Returns: the secrets that verify nothing any more.
    package static func dead(_ secrets: [SigningSecret], after life: Duration, at now: Instant) -> [SigningSecret] {
        let sorted = secrets.sorted { ($0.signsFrom, $0.id) < ($1.signsFrom, $1.id) }
        return zip(sorted, sorted.dropFirst()).filter { now - $1.signsFrom > life }.map(\.0)
    }

    /// Makes the first secret of a purpose where there is none.
    package static func makeFirst(
        _ purpose: SecretStore.Signing,
        _ master: MasterKeyring.Shared,
        in database: any Database,
        at now: Instant
    ) async throws {
        guard try await database.read({ try SecretStore.signing(purpose, in: $0) }).isEmpty else { return }
        let first = try master.current.wrap(makeStored(signsFrom: now))
        // Another process may make it first: the database decides.
        try await database.write { try SecretStore.insert(SecretStore.name(purpose, 1), first, in: $0) }
    }

    /// The current signing secret: the latest of the secrets that may already sign.
    package static func signing(at now: Instant, of secrets: [SigningSecret]) -> SigningSecret? {
        secrets.filter { $0.signsFrom <= now }.max { ($0.signsFrom, $0.id) < ($1.signsFrom, $1.id) }
    }

    /// A free id for a new secret; nil if none is free. The id of a deleted secret is reused only after all
    /// others, and never with its old secret.
    static func freeID(beside taken: Set<UInt8>, after newest: UInt8) -> UInt8? {
        (1...255).map { UInt8((Int(newest) + $0 - 1) % 255 + 1) }.first { !taken.contains($0) }
    }

    /// The result of a rotation.
    package struct Rotation: Sendable, Equatable {
        /// The id of the new secret.
        package let id: UInt8
        /// When it starts signing.
        package let signsFrom: Instant
        /// Number of deleted secrets.
        package let forgotten: Int
    }

    /// Adds a new secret for its purpose, and deletes expired secrets.
    ///
    /// - Parameters:
    ///   - wrapped: the stored form of the new secret.
    ///   - signsFrom: when it starts signing.
    ///   - purpose: its purpose.
    ///   - known: all current secrets.
    ///   - dead: the expired secrets among them.
    ///   - full: the error text if every id belongs to a secret that may still be needed.
    ///   - transaction: the transaction.
    /// - Returns: its id, and the number of deleted secrets.
    /// - Throws: ``ServerError`` `conflict` with `full`.
    package static func replace(
        with wrapped: MasterKeyring.Wrapped,
        signsFrom: Instant,
        _ purpose: SecretStore.Signing,
        known: [SigningSecret],
        dead: [SigningSecret],
        full: String,
        in transaction: any Transaction
    ) throws -> Rotation {
        let newest = known.max { ($0.signsFrom, $0.id) < ($1.signsFrom, $1.id) }
        let taken = Set(known.map(\.id)).subtracting(dead.map(\.id))
        guard let id = freeID(beside: taken, after: newest?.id ?? 0) else { throw ServerError(.conflict, full) }
        for old in dead { try SecretStore.delete(SecretStore.name(purpose, old.id), in: transaction) }
        try SecretStore.insert(SecretStore.name(purpose, id), wrapped, in: transaction)
        return Rotation(id: id, signsFrom: signsFrom, forgotten: dead.count)
    }

    /// The stored form of a new secret, before it is wrapped.
    package static func makeStored(signsFrom: Instant) -> Secret {
        Secret.random(count: byteCount).withBytes { secret in
            var bytes = [UInt8](copying: secret)
            bytes.append(bigEndian: signsFrom.milliseconds)
            return Secret(bytes)
        }
    }
}
