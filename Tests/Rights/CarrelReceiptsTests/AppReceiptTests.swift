// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelReceipts
import CarrelTesting
import Testing

struct `An app's receipt` {
    private static let now = Instant(milliseconds: 1_800_000_000_000)
    private static let whole = TestReceipt(now, [.month(now), .single(now)])

    private static func verifier(
        _ store: TestStore,
        environments: Set<StoreEnvironment> = [.production]
    ) throws -> TransactionVerifier {
        TransactionVerifier(
            roots: try CertificateRoots([try Certificate(der: store.root)]),
            bundleIDs: ["com.example.reader"],
            environments: environments
        )
    }

    private static func code(_ receipt: [UInt8], _ verifier: TransactionVerifier) -> ReceiptError.Code? {
        do throws(ReceiptError) {
            _ = try verifier.receipt(receipt, at: now)
            return nil
        } catch {
            return error.code
        }
    }

    /// Stores sign the payload itself, or attributes that hold its digest; keys are on a curve here, and of RSA with Apple.
    @Test(arguments: [["-nodetach", "-noattr"], ["-nodetach"]], [TestCertificates.Key.p256, .rsa(bits: 2048)])
    func `is read`(options: [String], key: TestCertificates.Key) async throws {
        let store = try await TestStore()
        try await store.certificates.make("signer", by: "authority", extensions: TestStore.signer, key: key)
        let receipt = try await store.receipt(Self.whole.bytes, options: options + ["-md", "sha256"])
        let month = StoreTransaction(
            environment: .production,
            bundleID: "com.example.reader",
            productID: "com.example.monthly",
            kind: .autoRenewable,
            transactionID: "2000000001",
            originalID: "2000000001",
            purchasedAt: Self.now,
            expiresAt: Self.now + .seconds(30 * 86_400),
            signedAt: Self.now
        )
        let single = StoreTransaction(
            environment: .production,
            bundleID: "com.example.reader",
            productID: "issue-1",
            kind: .nonConsumable,
            transactionID: "2000000009",
            originalID: "2000000009",
            purchasedAt: Self.now,
            signedAt: Self.now
        )
        let read = try Self.verifier(store).receipt(receipt, at: Self.now)
        #expect(read.sorted { $0.transactionID < $1.transactionID } == [month, single])
    }

    /// Every kind of forgery.
    enum Forgery: CaseIterable {
        case otherRoot, noChain, ownSigner, expiredSigner, unmarkedSigner, unmarkedAuthority, authorityAsSigner
        case weakDigest, weakCertificate, detached, twoSignatures, alteredPayload, alteredSignature, future, trailing
    }

    @Test(arguments: Forgery.allCases)
    func `is refused when it is forged`(forgery: Forgery) async throws {
        let store = try await TestStore()
        let certificates = store.certificates
        let payload = Self.whole.bytes
        let good = try await store.receipt(payload)
        var (receipt, code) = (good, ReceiptError.Code.untrusted)
        switch forgery {
        case .otherRoot: receipt = try await TestStore().receipt(payload)
        case .noChain: receipt = try await store.receipt(payload, chain: ["signer"])
        case .ownSigner:
            try await certificates.make("own", extensions: TestStore.signer)
            receipt = try await store.receipt(payload, chain: ["own", "authority", "root"])
        case .expiredSigner:
            try await certificates.make("old", by: "authority", extensions: TestStore.signer, until: "20270101000000Z")
            receipt = try await store.receipt(payload, chain: ["old", "authority", "root"])
        case .unmarkedSigner:
            try await certificates.make("plain", by: "authority", extensions: TestCertificates.signer)
            receipt = try await store.receipt(payload, chain: ["plain", "authority", "root"])
        case .unmarkedAuthority:
            try await certificates.make("unmarked", by: "root", extensions: TestCertificates.authority)
            try await certificates.make("under", by: "unmarked", extensions: TestStore.signer)
            receipt = try await store.receipt(payload, chain: ["under", "unmarked", "root"])
        case .authorityAsSigner: receipt = try await store.receipt(payload, chain: ["authority", "root"])
        case .weakDigest: receipt = try await store.receipt(payload, options: ["-nodetach", "-noattr", "-md", "sha1"])
        case .weakCertificate:
            try await certificates.make("sha1", by: "authority", extensions: TestStore.signer, digest: "sha1")
            receipt = try await store.receipt(payload, chain: ["sha1", "authority", "root"])
        case .detached: receipt = try await store.receipt(payload, options: ["-noattr", "-md", "sha256"])
        case .twoSignatures:
            let options = ["-signer", certificates.directory.file("authority.pem")]
            let key = ["-inkey", certificates.directory.file("authority.key")]
            let chain = ["signer", "root"]
            receipt = try await store.receipt(payload, chain: chain, options: options + key + ["-nodetach", "-md", "sha256"])
            code = .malformed
        case .alteredPayload:
            receipt = Self.replacing(Array("com.example.monthly".utf8), by: Array("com.example.yearly!".utf8), in: good)
        case .alteredSignature: receipt[receipt.count - 10] ^= 1
        case .future: receipt = try await store.receipt(TestReceipt(Self.now + .seconds(121), [.month(Self.now)]).bytes)
        case .trailing: (receipt, code) = (good + [0], .malformed)
        }
        try #require(receipt != good)
        #expect(Self.code(receipt, try Self.verifier(store)) == code)
        // The same receipt without the forgery is accepted.
        #expect(Self.code(good, try Self.verifier(store)) == nil)
    }

    private static func replacing(_ old: [UInt8], by new: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for start in 0...(bytes.count - old.count) where Array(bytes[start..<start + old.count]) == old {
            bytes.replaceSubrange(start..<start + old.count, with: new)
        }
        return bytes
    }

    /// With any byte altered, or any part missing, no content is accepted that the store did not sign.
    @Test func `reports only signed content when any byte of it is altered`() async throws {
        let store = try await TestStore()
        let verifier = try Self.verifier(store)
        let good = try await store.receipt(Self.whole.bytes)
        let said = try verifier.receipt(good, at: Self.now)
        var (refused, wrong) = (0, [Int]())
        for place in good.indices {
            for bits: UInt8 in [0x01, 0x80] {
                var bytes = good
                bytes[place] ^= bits
                guard let read = try? verifier.receipt(bytes, at: Self.now) else {
                    refused += 1
                    continue
                }
                if read != said { wrong.append(place) }
            }
            #expect(throws: ReceiptError.self) { try verifier.receipt(Array(good.prefix(place)), at: Self.now) }
        }
        #expect(wrong == [])
        #expect(refused > good.count, "of the rest, what is no part of the proof may be anything")
    }

    @Test func `stays as true as it was when the signer's certificate has expired since`() async throws {
        let store = try await TestStore()
        let receipt = try await store.receipt(Self.whole.bytes)
        let later = Instant.parse("2029-01-01T00:00:00Z") ?? Self.now
        #expect(try Self.verifier(store).receipt(receipt, at: later).count == 2)
    }

    @Test(
        arguments: [
            ("Production", "com.example.reader", nil), ("ProductionVPP", "com.example.reader", nil),
            ("ProductionSandbox", "com.example.reader", .environment), ("Xcode", "com.example.reader", .environment),
            ("", "com.example.reader", .malformed), ("Production", "com.example.other", .bundle),
        ] as [(String, String, ReceiptError.Code?)]
    )
    func `of another app or of an environment that does not count is refused`(
        environment: String,
        bundle: String,
        code: ReceiptError.Code?
    ) async throws {
        let store = try await TestStore()
        // Also where nothing was bought.
        for bought in [[], [TestReceipt.month(Self.now)]] {
            let receipt = try await store.receipt(TestReceipt(Self.now, environment: environment, bundle: bundle, bought).bytes)
            #expect(Self.code(receipt, try Self.verifier(store)) == code)
        }
    }

    @Test func `of a tester counts on a server for tests`() async throws {
        let store = try await TestStore()
        let receipt = try await store.receipt(TestReceipt(Self.now, environment: "ProductionSandbox", [.month(Self.now)]).bytes)
        let read = try Self.verifier(store, environments: [.sandbox]).receipt(receipt, at: Self.now)
        #expect(read.map(\.environment) == [.sandbox])
    }

    @Test(
        arguments: [
            (0, StoreTransaction.Kind.nonConsumable), (1, .consumable), (2, .nonRenewing), (4, .other), (127, .other),
        ] as [(UInt8, StoreTransaction.Kind)]
    )
    func `reports the kind of a product`(number: UInt8, kind: StoreTransaction.Kind) throws {
        let receipt = try AppReceipt(TestReceipt(Self.now, [.single(Self.now, kind: number)]).bytes)
        #expect(receipt.transactions.map(\.kind) == [kind])
    }

    @Test func `derives a missing kind of a product from its end`() throws {
        let bought = [TestReceipt.month(Self.now).with(1707, nil), TestReceipt.single(Self.now).with(1707, nil)]
        let receipt = try AppReceipt(TestReceipt(Self.now, bought).bytes)
        #expect(receipt.transactions.map(\.kind) == [.autoRenewable, .other])
    }

    @Test func `says when the money was given back`() throws {
        let refunded = TestReceipt.month(Self.now).with(1712, TestReceipt.time("2027-01-15T08:00:01Z"))
        let receipt = try AppReceipt(TestReceipt(Self.now, [refunded]).bytes)
        #expect(receipt.transactions.map(\.revokedAt) == [Self.now + .seconds(1)])
    }

    @Test func `that lacks what it must have, or says it twice or otherwise, is refused`() throws {
        func code(_ receipt: [UInt8]) -> ReceiptError.Code? {
            do throws(ReceiptError) {
                _ = try AppReceipt(receipt)
                return nil
            } catch {
                return error.code
            }
        }
        let (whole, month) = (TestReceipt(Self.now, []), TestReceipt.month(Self.now))
        func of(_ purchase: TestReceipt) -> [UInt8] { TestReceipt(Self.now, [purchase]).bytes }
        #expect(code(whole.bytes) == nil && code(of(month)) == nil)
        for number in [0, 2, 12] {
            #expect(code(whole.with(number, nil).bytes) == .malformed, "\(number)")
            var twice = whole
            twice.attributes += whole.attributes.filter { $0.number == number }
            #expect(code(twice.bytes) == .malformed, "\(number) twice")
        }
        for number in [1702, 1703, 1704, 1705, 1708] {
            #expect(code(of(month.with(number, nil))) == .malformed, "\(number)")
            var twice = month
            twice.attributes += month.attributes.filter { $0.number == number }
            #expect(code(of(twice)) == .malformed, "\(number) twice")
        }
        let bad: [(Int, [UInt8])] = [
            (1702, TestReceipt.text("")), (1702, TestReceipt.text("a/b")), (1702, TestReceipt.text("a\u{e4}")),
            (1702, TestReceipt.text(String(repeating: "a", count: 256))), (1702, TestReceipt.time("abc")), (1702, []),
            (1702, TestReceipt.text("abc") + [0]), (1703, TestReceipt.text("1\n")), (1704, TestReceipt.time("yesterday")),
            (1704, TestReceipt.text("2027-01-15T08:00:00Z")), (1704, TestReceipt.time("")), (1708, TestReceipt.time("2027")),
            (1707, []), (1707, TestReceipt.value(0x02, [])), (1707, TestReceipt.value(0x02, [0x80])),
            (1707, TestReceipt.value(0x02, [0, 0, 0, 0, 3])), (1712, TestReceipt.time("2027-13-01T00:00:00Z")),
            (1702, [0x0c, 0x80]), (1702, [0x0c, 0x84, 0xff, 0xff, 0xff, 0xff]), (1702, [0x0c, 0x85, 0, 0, 0, 0, 1, 0x61]),
            (1702, [0x0c]), (1702, [0x0c, 0x02, 0x61]),
        ]
        for (number, value) in bad { #expect(code(of(month.with(number, value))) == .malformed, "\(number) \(value)") }
        for bytes in [[], [0x31], [0x30, 0], [0x31, 1, 0], [0x31, 2, 0x30, 0]] as [[UInt8]] { #expect(code(bytes) == .malformed) }
        // Attributes that are not used may contain anything, and there may be many.
        let more = (0..<50).map { (number: 5000 + $0 % 3, value: [0xff, UInt8($0)]) }
        var odd = month
        odd.attributes += more
        #expect(code(of(odd)) == nil)
        let most = [TestReceipt](repeating: .month(Self.now), count: 501)
        #expect(code(TestReceipt(Self.now, most).bytes) == .malformed)
        #expect(code(TestReceipt(Self.now, most.dropLast()).bytes) == nil)
    }
}
