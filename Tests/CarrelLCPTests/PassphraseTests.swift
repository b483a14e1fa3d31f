import CarrelBytes
import CarrelJSON
import CarrelTesting
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
}
