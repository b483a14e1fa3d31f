// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import CarrelWebAPI
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelRights
import CarrelStore

extension Authority {
    /// The signed revocation list. It is signed again after every revocation, and once an hour.
    package func revocations() async throws -> String { try await revocationLists().signedText }

    /// The revoked certificates as an X.509 list of the current authority of players, in DER.
    package func certificateList() async throws -> [UInt8] { try await certificateLists()[0] }

    /// The same list in DER, signed by each authority of players whose certificates can be valid: the current one, then earlier
    /// ones.
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

    /// A signed list, ready to serve.
    struct ListFile: Sendable {
        let bytes: [UInt8]
        /// Its entity tag (RFC 9110 §8.8.3).
        let tag: String

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            tag = EntityTag(of: bytes).description
        }
    }

    /// Both forms of a list.
    final class RevocationLists: Sendable {
        let number: Int64
        /// The number of the keys that signed it.
        let keys: Int64
        let signedText: String
        let signed: ListFile
        /// X.509 lists, one for each authority of players, the current one first.
        let certificates: [[UInt8]]
        /// The list of the current authority.
        let current: ListFile
        private let joined = Locked<ListFile?>(nil)

        init(number: Int64, keys: Int64, signed: String, certificates: [[UInt8]]) {
            (self.number, self.keys, signedText) = (number, keys, signed)
            (self.signed, self.certificates) = (ListFile(Array(signed.utf8)), certificates)
            current = ListFile(certificates[0])
        }

        /// The lists of X.509 in PEM, made at the first request.
        var pem: ListFile {
            joined.withLock { joined in
                if let joined { return joined }
                let made = ListFile(Array(certificates.map(RevocationList.pem).joined().utf8))
                joined = made
                return made
            }
        }
    }

    /// The time for which a list is served again, and for which a player may use it.
    private static let listLife = Duration.seconds(3600)
    private static let listValidity = Duration.seconds(7 * 86_400)

    /// The newest lists. One caller at a time reads and signs them; the others wait for its lists.
    func revocationLists() async throws -> RevocationLists {
        while true {
            let now = clock.now
            let keys = try await keys()
            let found = listCache.find(0, at: now)
            let number = try await database.read { try PlayerStore.revocationNumber(in: $0) }
            let keyNumber = keys.number
            @Sendable func isCurrent(_ lists: RevocationLists) -> Bool { lists.number >= number && lists.keys == keyNumber }
            if let lists = found.value, found.isFresh, lists.number == number, isCurrent(lists) { return lists }
            let (build, isOwn) = listBuild.withLock { build in
                if let build { return (build, false) }
                let made = Task {
                    defer { self.listBuild.withLock { $0 = nil } }
                    // another caller's lists may have come since the look-up
                    let newest = self.listCache.find(0, at: now)
                    if let lists = newest.value, newest.isFresh, isCurrent(lists) { return lists }
                    return try await self.makeRevocationLists(keys, at: now, since: newest)
                }
                build = made
                return (made, true)
            }
            let lists = try await build.value
            // another caller's lists may be older than the change that this one is to see
            if isOwn || isCurrent(lists) { return lists }
        }
    }

    private func makeRevocationLists(
        _ keys: Keys,
        at now: Instant,
        since found: SnapshotCache<Int, RevocationLists>.Found
    ) async throws -> RevocationLists {
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
