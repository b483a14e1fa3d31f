// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelVault
import CarrelBytes
import CarrelJSON
import CarrelStore
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelLCP

@Suite("Known passphrases")
struct PassphraseTests {
    private let directory = TemporaryDirectory()

    private func stores() throws -> [any PassphraseStore] {
        [MemoryPassphraseStore(), LCPStore(path: directory.file("lcp.sqlite"))]
    }

    private func license() async throws -> LicenseDocument {
        let provider = try await TestProvider()
        var object = try provider.unsigned(["user": ["id": "reader-1"]])
        object["signature"] = ["algorithm": "a", "certificate": "AAAA", "value": "AAAA"]
        return try LicenseDocument(JSON.object(object).write())
    }

    @Test func `are tried in order: the license's, the user's, the provider's, then all others, each once`() async throws {
        let license = try await license()
        for store in try stores() {
            let keys = (0..<5).map { UserKey(passphrase: "\($0)") }
            try await store.add(keys[4], of: PassphraseOwner())
            try await store.add(keys[0], of: PassphraseOwner(license: "license-1"))
            try await store.add(keys[3], of: PassphraseOwner(license: "x", provider: "https://other.example", user: "reader-1"))
            try await store.add(
                keys[2],
                of: PassphraseOwner(license: "y", provider: "https://provider.example", user: "reader-2")
            )
            try await store.add(
                keys[1],
                of: PassphraseOwner(license: "z", provider: "https://provider.example", user: "reader-1")
            )
            for _ in 0..<2 { try await store.add(keys[4], of: PassphraseOwner(license: "w", provider: nil, user: nil)) }
            let tried = try await store.userKeys(for: license)
            #expect(tried.count == 5)
            #expect(Array(tried.prefix(3)) == Array(keys.prefix(3)))
        }
    }

    @Test func `of the license are tried first, however many others came later`() async throws {
        let license = try await license()
        let store = LCPStore(path: directory.file("lcp.sqlite"))
        let own = UserKey(passphrase: "own")
        try await store.add(own, of: PassphraseOwner(license))
        for number in 0...PassphraseOrder.limit {
            try await store.add(UserKey(passphrase: "\(number)"), of: PassphraseOwner(license: "x", provider: "y"))
        }
        let tried = try await store.userKeys(for: license)
        #expect(tried.first == own)
        #expect(tried.count == PassphraseOrder.limit)
    }

    @Test func `are in no file before there is one to be kept`() async throws {
        let store = LCPStore(path: directory.file("lcp.sqlite"))
        await store.close()
        #expect(directory.read("lcp.sqlite") == nil)
    }

    @Test func `are kept as digests in a file that only their owner reads`() async throws {
        let license = try await license()
        let path = directory.file("lcp.sqlite")
        let store = LCPStore(path: path)
        try await store.add(UserKey(passphrase: "open sesame"), of: PassphraseOwner(license))
        await store.close()
        var status = stat()
        #expect(unsafe stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let bytes = try #require(directory.read("lcp.sqlite"))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("sesame"))
        let again = LCPStore(path: path)
        #expect(try await again.userKeys(for: license) == [UserKey(passphrase: "open sesame")])
    }

    @Test func `are sealed by a vault, with those that were in the clear before`() async throws {
        let license = try await license()
        let (path, folder) = (directory.file("lcp.sqlite"), directory.file("vault"))
        let (first, second) = (UserKey(passphrase: "first"), UserKey(passphrase: "second"))
        let clear = LCPStore(path: path)
        try await clear.add(first, of: PassphraseOwner(license))
        await clear.close()
        func shows(_ key: UserKey) -> Bool {
            let digest = key.secret.withBytes { [UInt8](copying: $0) }
            return ["", "-wal"].contains { end in
                let bytes = directory.read("lcp.sqlite" + end) ?? []
                return bytes.indices.contains { bytes[$0...].starts(with: digest) }
            }
        }
        #expect(shows(first))
        let cost = try Scrypt(cost: 1024, blockSize: 8, parallelism: 1)
        let vault = try await Vault.file(folder: folder, passphrase: Secret([1, 2, 3]), create: true, scrypt: cost)
        // open in the clear while another one seals it
        let late = LCPStore(path: path) { isSealed in isSealed ? vault : nil }
        #expect(try await late.userKeys(for: license) == [first])
        let sealed = LCPStore(path: path, vault: vault)
        #expect(try await sealed.userKeys(for: license) == [first])
        try await sealed.add(second, of: PassphraseOwner(license))
        try await sealed.add(second, of: PassphraseOwner(license))
        #expect(try await sealed.userKeys(for: license) == [second, first])
        let third = UserKey(passphrase: "third")
        try await late.add(third, of: PassphraseOwner(license))
        #expect(try await late.userKeys(for: license) == [third, second, first])
        await late.close()
        await sealed.close()
        #expect(!shows(third))
        #expect(!shows(first) && !shows(second))
        let again = LCPStore(path: path, vault: vault)
        #expect(try await again.userKeys(for: license) == [third, second, first])
        await again.close()
        let without = LCPStore(path: path)
        await #expect(throws: LCPError(.store, "")) { try await without.userKeys(for: license) }
        let other = try await Vault.file(folder: folder + "2", passphrase: Secret([1, 2, 3]), create: true, scrypt: cost)
        let foreign = LCPStore(path: path, vault: other)
        await #expect(throws: LCPError(.store, "")) { try await foreign.userKeys(for: license) }
    }

    @Test func `of catalogs are forgotten after a thousand, those that opened something are not`() async throws {
        let license = try await license()
        for store in try stores() {
            let own = UserKey(passphrase: "own")
            try await store.add(own, of: PassphraseOwner(license))
            let first = (0..<PassphraseOrder.limit).map { UserKey(passphrase: "\($0)") }
            try await store.add(first, of: PassphraseOwner())
            try await store.add(first, of: PassphraseOwner())
            let all = try await store.userKeys(for: license)
            #expect(all.count == PassphraseOrder.limit && all.first == own)
            let later = (0..<PassphraseOrder.limit).map { UserKey(passphrase: "later \($0)") }
            try await store.add(later, of: PassphraseOwner())
            let kept = try await store.userKeys(for: license)
            #expect(kept.first == own)
            #expect(kept.dropFirst().allSatisfy(later.contains))
        }
        // not only the thousand that are tried are of the later ones
        let database = try SQLiteDatabase(path: directory.file("lcp.sqlite"), migrations: LCPStore.migrations)
        let count = try await database.read { try $0.row(SQL("SELECT count(*) FROM lcp_passphrase"))?.integer(0) }
        #expect(count == Int64(PassphraseOrder.limit) + 1)
        await database.close()
    }

    @Test func `that opened something are forgotten after ten thousand, the oldest first`() async throws {
        let license = try await license()
        let (own, new) = (UserKey(passphrase: "own"), UserKey(passphrase: "new"))
        for owner in [PassphraseOwner(license), PassphraseOwner()] {
            let memory = MemoryPassphraseStore(
                catalogLimit: owner.license == nil ? 3 : 9,
                usedLimit: owner.license == nil ? 9 : 3
            )
            for key in [own, UserKey(passphrase: "a"), UserKey(passphrase: "b"), new] { try await memory.add(key, of: owner) }
            let remembered = try await memory.userKeys(for: license)
            #expect(remembered.first == new && remembered.count == 3 && !remembered.contains(own))
        }

        let store = LCPStore(path: directory.file("lcp.sqlite"))
        try await store.add(own, of: PassphraseOwner(license))
        let database = try SQLiteDatabase(path: directory.file("lcp.sqlite"), migrations: LCPStore.migrations)
        let others = SQL(
            """
            WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < $1)
            INSERT INTO lcp_passphrase (digest, license, provider) SELECT randomblob(32), 'x', 'y' FROM numbers
            """
        )
        try await database.write { try $0.run(others, [.integer(Int64(PassphraseOrder.usedLimit) - 1)]) }
        #expect(try await store.userKeys(for: license).first == own)
        try await store.add(new, of: PassphraseOwner(license: "z"))
        let count = try await database.read { try $0.row(SQL("SELECT count(*) FROM lcp_passphrase"))?.integer(0) }
        #expect(count == Int64(PassphraseOrder.usedLimit))
        #expect(try await !store.userKeys(for: license).contains(own))
        await database.close()
        await store.close()
    }

    @Test func `that open a license again are forgotten last`() async throws {
        let license = try await license()
        for store in try stores() {
            let (old, other) = (UserKey(passphrase: "old"), UserKey(passphrase: "other"))
            for key in [old, other, old] { try await store.add(key, of: PassphraseOwner(license)) }
            #expect(try await store.userKeys(for: license) == [old, other])
        }
        let database = try SQLiteDatabase(path: directory.file("lcp.sqlite"), migrations: LCPStore.migrations)
        let count = try await database.read { try $0.row(SQL("SELECT count(*) FROM lcp_passphrase"))?.integer(0) }
        #expect(count == 2)
        await database.close()
    }

    @Test func `that are requested concurrently open one database, and retry after a failure`() async throws {
        let license = try await license()
        let path = directory.file("lcp.sqlite")
        let openings = Locked(0)
        let store = LCPStore {
            let number = openings.withLock { count in
                count += 1
                return count
            }
            if number == 1 { throw LCPError(.store, "the first time it fails") }
            return try await LCPStore.open(path) { _ in nil }
        }
        await #expect(throws: LCPError(.store, "")) { try await store.userKeys(for: license) }
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await store.add(UserKey(passphrase: "\(number)"), of: PassphraseOwner())
                    return try await store.userKeys(for: license).count
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.max() == 20)
        #expect(openings.withLock { $0 } == 2)
        await store.close()
    }
}
