import CarrelThreads
import CarrelBytes
import CarrelCrypto
import CarrelRights
import CarrelStore

extension Authority {
    /// The signed list of what is revoked. It is signed again after every revocation, and once an hour.
    package func revocations() async throws -> String { try await revocationLists().signed }

    /// The same certificates as a list of X.509 of the current authority of players, in DER.
    package func certificateList() async throws -> [UInt8] { try await certificateLists()[0] }

    /// The same list in DER, signed by each authority of players whose certificates can be valid: the current one, then those before it.
    package func certificateLists() async throws -> [[UInt8]] { try await revocationLists().certificates }

    /// The number of the newest list.
    package func revocationNumber() async throws -> Int {
        Int(try await database.read { try PlayerStore.revocationNumber(in: $0) })
    }

    /// The number of entries that the list would have without its limit, as of the last minute.
    func revokedCount() async throws -> Int {
        let now = clock.now
        let found = countCache.find(0, at: now)
        if let count = found.value, found.isFresh { return count }
        let count = try await database.read { try PlayerStore.revokedCount(at: now, in: $0) }
        countCache.insert(count, for: 0, readAt: now, since: found)
        return count
    }

    /// Both forms of a list.
    struct RevocationLists: Sendable {
        let number: Int64
        /// The number of the keys that signed it.
        let keys: Int64
        let signed: String
        /// Of X.509, one of each authority of players, the current one first.
        let certificates: [[UInt8]]
    }

    /// The time for which a list is served again, and for which a player may use it.
    private static let listLife = Duration.seconds(3600)
    private static let listValidity = Duration.seconds(7 * 86_400)

    private func revocationLists() async throws -> RevocationLists {
        let now = clock.now
        let keys = try await keys()
        let found = listCache.find(0, at: now)
        let number = try await database.read { try PlayerStore.revocationNumber(in: $0) }
        if let lists = found.value, found.isFresh, lists.number == number, lists.keys == keys.number { return lists }
        let second = now.wholeSecond
        let (current, revoked) = try await database.read { transaction in
            (
                try PlayerStore.revocationNumber(in: transaction),
                try PlayerStore.revoked(at: now, limit: Revocations.maxEntries, in: transaction)
            )
        }
        func ids(_ kind: String) -> Set<String> { Set(revoked.rights.filter { $0.kind == kind }.map(\.id)) }
        let list = Revocations(
            number: Int(current),
            serials: Set(revoked.serials),
            players: ids("player"),
            licenses: ids("license"),
            keyIDs: ids("kid"),
            validity: second...(second + Self.listValidity)
        )
        let certificates = revoked.certificates.compactMap { entry in
            Hex.decode(entry.serial).map { CertificateAuthority.Revoked(serial: $0, instant: entry.at.wholeSecond) }
        }
        let lists = RevocationLists(
            number: current,
            keys: keys.number,
            signed: list.signed(by: keys.revocation),
            certificates: ([keys.devices] + keys.formerDevices).map {
                $0.revocationList(
                    number: UInt64(current),
                    revoked: certificates,
                    thisUpdate: second,
                    nextUpdate: second + Self.listValidity
                )
            }
        )
        listCache.insert(lists, for: 0, readAt: now, since: found)
        return lists
    }
}
