// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelReceipts
import CarrelTesting
import Testing

struct `A signed transaction` {
    private static let now = Instant(milliseconds: 1_800_000_000_000)

    private static func verifier(
        _ store: TestStore,
        environments: Set<StoreEnvironment> = [.production]
    ) throws -> TransactionVerifier {
        TransactionVerifier(
            roots: try CertificateRoots([try Certificate(der: store.root)]),
            bundleIDs: ["com.example.reader", "com.example.tablet"],
            environments: environments
        )
    }

    @Test func `is read`() async throws {
        let store = try await TestStore()
        let revoked = Int(Self.now.milliseconds) + 5
        let text = try await store.sign(
            TestStore.month(Self.now, ["transactionId": "2000000002", "isUpgraded": true, "revocationDate": .integer(revoked)])
        )
        let expected = StoreTransaction(
            environment: .production,
            bundleID: "com.example.reader",
            productID: "com.example.monthly",
            kind: .autoRenewable,
            transactionID: "2000000002",
            originalID: "2000000001",
            purchasedAt: Self.now,
            expiresAt: Self.now + .seconds(30 * 86_400),
            revokedAt: Self.now + .milliseconds(5),
            isUpgraded: true,
            signedAt: Self.now
        )
        #expect(try Self.verifier(store).transaction(text, at: Self.now) == expected)
    }

    /// Every kind of forgery.
    enum Forgery: CaseIterable {
        case otherRoot, noChain, onlySigner, expiredSigner, earlySigner, unmarkedSigner, unmarkedAuthority, signerAsAuthority
        case markedBystander, longChain
        case otherKey, noCertificates, weakDigest, alteredPayload, alteredSignature, future
    }

    @Test(arguments: Forgery.allCases)
    func `is refused when it is forged`(forgery: Forgery) async throws {
        let store = try await TestStore()
        let certificates = store.certificates
        let payload = TestStore.month(Self.now)
        let text: String
        switch forgery {
        case .otherRoot: text = try await TestStore().sign(payload)
        case .noChain: text = try await store.sign(payload, chain: ["signer"])
        case .onlySigner:
            try await certificates.make("own", extensions: TestStore.signer)
            text = try await store.sign(payload, chain: ["own"])
        case .expiredSigner:
            try await certificates.make("old", by: "authority", extensions: TestStore.signer, until: "20270101000000Z")
            text = try await store.sign(payload, chain: ["old", "authority", "root"])
        case .earlySigner:
            try await certificates.make("early", by: "authority", extensions: TestStore.signer, from: "20270201000000Z")
            text = try await store.sign(payload, chain: ["early", "authority", "root"])
        case .unmarkedSigner:
            try await certificates.make("plain", by: "authority", extensions: TestCertificates.signer)
            text = try await store.sign(payload, chain: ["plain", "authority", "root"])
        case .unmarkedAuthority:
            try await certificates.make("unmarked", by: "root", extensions: TestCertificates.authority)
            try await certificates.make("under", by: "unmarked", extensions: TestStore.signer)
            text = try await store.sign(payload, chain: ["under", "unmarked", "root"])
        case .markedBystander:
            try await certificates.make("other", by: "root", extensions: TestCertificates.authority)
            try await certificates.make("under-other", by: "other", extensions: TestStore.signer)
            text = try await store.sign(payload, chain: ["under-other", "authority", "other", "root"])
        case .longChain:
            try await certificates.make("upper", by: "root", extensions: TestCertificates.authority)
            try await certificates.make("lower", by: "upper", extensions: TestStore.authority)
            try await certificates.make("under-lower", by: "lower", extensions: TestStore.signer)
            text = try await store.sign(payload, chain: ["under-lower", "lower", "upper", "root"])
        case .signerAsAuthority:
            try await certificates.make("below", by: "signer", extensions: TestStore.signer)
            text = try await store.sign(payload, chain: ["below", "signer", "authority", "root"])
        case .otherKey:
            try await certificates.makeKey("thief")
            text = try await store.sign(payload, key: "thief")
        case .noCertificates: text = try await store.certificates.jws(header: #"{"alg":"ES256"}"#, payload: "{}", with: "signer")
        case .weakDigest:
            try await certificates.make("sha1", by: "authority", extensions: TestStore.signer, digest: "sha1")
            text = try await store.sign(payload, chain: ["sha1", "authority", "root"])
        case .alteredPayload:
            let parts = try await store.sign(payload).split(separator: ".")
            let other = try await store.sign(TestStore.month(Self.now, ["productId": "com.example.yearly"])).split(separator: ".")
            text = "\(parts[0]).\(other[1]).\(parts[2])"
        case .alteredSignature:
            let whole = try await store.sign(payload)
            text = String(whole.dropLast(10)) + (whole.hasSuffix("AAAAAAAAAA") ? "BAAAAAAAAA" : "AAAAAAAAAA")
        case .future: text = try await store.sign(TestStore.month(Self.now + .seconds(121)))
        }
        let error = #expect(throws: ReceiptError.self) { try Self.verifier(store).transaction(text, at: Self.now) }
        let code: ReceiptError.Code? = forgery == .noCertificates ? .malformed : .untrusted
        #expect(error?.code == code, "\(String(describing: error))")
        // The same transaction without the forgery is accepted.
        let good = try await store.sign(payload)
        _ = try Self.verifier(store).transaction(good, at: Self.now)
    }

    @Test func `stays as true as it was when the signer's certificate has expired since`() async throws {
        let store = try await TestStore()
        let text = try await store.sign(TestStore.month(Self.now))
        let later = Instant.parse("2029-01-01T00:00:00Z") ?? Self.now
        #expect(try Self.verifier(store).transaction(text, at: later).signedAt == Self.now)
    }

    @Test(arguments: [
        ("com.example.reader", "Sandbox", ReceiptError.Code.environment), ("com.example.other", "Production", .bundle),
        ("com.example.reader", "Xcode", .environment), ("com.example.reader", "LocalTesting", .environment),
        ("com.example.Reader", "Production", .bundle), ("com.example.reader", "production", .environment),
    ])
    func `of another app or of an environment that does not count is refused`(
        bundle: String,
        environment: String,
        code: ReceiptError.Code
    ) async throws {
        let store = try await TestStore()
        let changes: [String: JSON?] = ["bundleId": .string(bundle), "environment": .string(environment)]
        let text = try await store.sign(TestStore.month(Self.now, changes))
        let error = #expect(throws: ReceiptError.self) { try Self.verifier(store).transaction(text, at: Self.now) }
        #expect(error?.code == code)
    }

    @Test func `of a tester counts on a server for tests, and a real one does not`() async throws {
        let store = try await TestStore()
        let verifier = try Self.verifier(store, environments: [.sandbox])
        let text = try await store.sign(TestStore.month(Self.now, ["environment": "Sandbox"]))
        #expect(try verifier.transaction(text, at: Self.now).environment == .sandbox)
        let real = try await store.sign(TestStore.month(Self.now))
        let error = #expect(throws: ReceiptError.self) { try verifier.transaction(real, at: Self.now) }
        #expect(error?.code == .environment && error?.environment == .production)
    }

    @Test func `that lacks what it must have is refused`() async throws {
        let store = try await TestStore()
        let verifier = try Self.verifier(store)
        var changes: [(String, JSON?)] = [
            "transactionId", "originalTransactionId", "bundleId", "productId", "environment", "purchaseDate", "signedDate",
            "expiresDate",
        ].map { ($0, nil) }
        changes += [
            ("transactionId", 1), ("transactionId", ""), ("transactionId", "a/b"), ("transactionId", "a b"),
            ("transactionId", .string(String(repeating: "1", count: 256))), ("purchaseDate", "1800000000000"),
            ("purchaseDate", -1), ("expiresDate", .integer(253_402_300_800_000)), ("signedDate", 1.5), ("isUpgraded", "true"),
        ]
        for (name, value) in changes {
            let text = try await store.sign(TestStore.month(Self.now, [name: value]))
            let error = #expect(throws: ReceiptError.self, "\(name)") { try verifier.transaction(text, at: Self.now) }
            #expect(error?.code == .malformed, "\(name)")
        }
        for text in ["", ".", "..", "a.b.c", "ey.ey.ey", String(repeating: "e", count: 70_000)] {
            let error = #expect(throws: ReceiptError.self) { try verifier.transaction(text, at: Self.now) }
            #expect(error?.code == .malformed)
        }
    }

    @Test func `comes in notifications, which are signed too`() async throws {
        let store = try await TestStore()
        let verifier = try Self.verifier(store)
        let inner = try await store.sign(TestStore.month(Self.now))
        func notification(_ changes: [String: JSON?], _ data: JSON?) async throws -> StoreNotification {
            let payload: [String: JSON?] = [
                "notificationType": "DID_RENEW", "signedDate": .integer(Int(Self.now.milliseconds)), "data": data,
            ]
            let text = try await store.sign(payload.merging(changes) { $1 })
            return try verifier.notification(text, at: Self.now)
        }
        let data: JSON = [
            "bundleId": "com.example.reader", "environment": "Production", "signedTransactionInfo": .string(inner),
        ]
        let renewed = try await notification([:], data)
        #expect(renewed.type == "DID_RENEW" && renewed.transaction?.transactionID == "2000000001")
        #expect(try await notification(["notificationType": "RENEWAL_EXTENSION"], nil).transaction == nil)
        let test: JSON = ["bundleId": "com.example.reader", "environment": "Production"]
        #expect(try await notification(["notificationType": "TEST"], test).transaction == nil)
        for (name, value, code) in [
            ("bundleId", "com.example.other", ReceiptError.Code.bundle), ("environment", "Sandbox", .environment),
            ("signedTransactionInfo", .string(try await TestStore().sign(TestStore.month(Self.now))), .untrusted),
            ("signedTransactionInfo", .string(try await store.sign(TestStore.month(Self.now, ["bundleId": "b"]))), .bundle),
            ("signedTransactionInfo", 1, .malformed),
        ] as [(String, JSON, ReceiptError.Code)] {
            var object = data.object ?? [:]
            object[name] = value
            let changed = JSON.object(object)
            let error = await #expect(throws: ReceiptError.self) { _ = try await notification([:], changed) }
            #expect(error?.code == code)
        }
        // A transaction is not a notification, and vice versa.
        #expect(throws: ReceiptError.self) { try verifier.notification(inner, at: Self.now) }
    }
}
