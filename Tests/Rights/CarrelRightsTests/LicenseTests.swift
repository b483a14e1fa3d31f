// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON
import CarrelRights
import CarrelVault
import Testing

/// A service and a player with keys, for tests of licenses.
struct LicenseParties {
    static let start = Instant(milliseconds: 1_800_000_000_000)

    let root = P256.PrivateKey()
    let license = Ed25519.PrivateKey.generate()
    let service = P256.PrivateKey()
    let signing = P256.PrivateKey()
    let agreement = P256.PrivateKey()
    let keys: ServiceKeys

    init() {
        let validity = Self.start...(Self.start + .seconds(86_400 * 365))
        keys = ServiceKeys(
            environment: "live",
            number: 1,
            keys: [
                .init(use: .license, key: .ed25519(license.publicKey), validity: validity),
                .init(use: .agreement, key: .p256(service.publicKey), validity: validity),
            ],
            authorities: [],
            validity: validity
        )
    }

    static let kid = KeyID(label: "one")
    static let other = KeyID(label: "two")

    func make(
        _ id: String = "license-1",
        terms: LicenseTerms = LicenseTerms(),
        obligations: [Obligation] = [],
        player: String = "player-1",
        minimumRevocations: Int = 0,
        key: Secret = Secret([UInt8](repeating: 7, count: 16))
    ) -> License {
        License(
            id: id,
            sequence: 1,
            player: player,
            contentID: "cid:x",
            request: [1, 2, 3],
            nonce: "n",
            issuedAt: Self.start,
            terms: terms,
            obligations: obligations,
            keys: [
                .init(id: Self.kid, sealed: License.seal(key, id: Self.kid, license: id, to: agreement.publicKey), policy: "HD")
            ],
            minimumRevocations: minimumRevocations
        )
    }
}

struct `A license` {
    let parties = LicenseParties()

    @Test func `is read as it was signed, by the service alone`() async throws {
        var terms = LicenseTerms()
        (terms.notBefore, terms.notAfter, terms.renewAt) = (
            LicenseParties.start, LicenseParties.start + .seconds(9), LicenseParties.start
        )
        (terms.storageSeconds, terms.playbackSeconds, terms.leaseSeconds, terms.playCount) = (1, 2, 3, 4)
        terms.isStorable = true
        let license = parties.make(
            terms: terms,
            obligations: [
                .init(.imageConstraint, parameters: ["pixels": 520_000], isCritical: true), .init(type: "x", isCritical: false),
            ]
        )
        let text = license.signed(by: parties.license)
        #expect(try License(text, keys: parties.keys) == license)
        let foreign = license.signed(by: .generate())
        #expect(throws: RightsError(.signature)) { try License(foreign, keys: parties.keys) }
        let wrong = TypedJWS.sign([0x7b, 0x7d], as: RightsMessage.time, with: parties.license)
        #expect(throws: RightsError(.malformed)) { try License(wrong, keys: parties.keys) }
    }

    @Test func `gives its key to its player, and to no other`() async throws {
        let key = Secret.random(count: 16)
        let license = parties.make(key: key)
        let agreement = parties.agreement
        let opened = try await license.open(LicenseParties.kid) { agreement.sharedSecret(with: $0) }
        #expect(opened == key)
        let stranger = P256.PrivateKey()
        await #expect(throws: RightsError(.key)) {
            try await license.open(LicenseParties.kid) { stranger.sharedSecret(with: $0) }
        }
        await #expect(throws: RightsError(.key)) {
            try await license.open(LicenseParties.other) { agreement.sharedSecret(with: $0) }
        }
    }

    @Test func `does not open a key that was moved from another license or another id`() async throws {
        let agreement = parties.agreement
        let sealed = License.seal(.random(count: 16), id: LicenseParties.kid, license: "license-2", to: agreement.publicKey)
        func with(_ id: KeyID, _ sealed: String) -> License {
            License(
                id: "license-1",
                sequence: 1,
                player: "player-1",
                contentID: "cid:x",
                request: [],
                nonce: "",
                issuedAt: LicenseParties.start,
                terms: LicenseTerms(),
                obligations: [],
                keys: [.init(id: id, sealed: sealed)],
                minimumRevocations: 0
            )
        }
        let moved = with(LicenseParties.kid, sealed)
        await #expect(throws: RightsError(.key)) { try await moved.open(LicenseParties.kid) { agreement.sharedSecret(with: $0) } }
        let own = License.seal(.random(count: 16), id: LicenseParties.other, license: "license-1", to: agreement.publicKey)
        let renamed = with(LicenseParties.kid, own)
        await #expect(throws: RightsError(.key)) {
            try await renamed.open(LicenseParties.kid) { agreement.sharedSecret(with: $0) }
        }
    }

    @Test func `that was altered anywhere is refused`() throws {
        let text = Array(parties.make().signed(by: parties.license).utf8)
        var accepted = 0
        for place in stride(from: 0, to: text.count, by: 3) {
            var altered = text
            altered[place] = altered[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            if (try? License(String(decoding: altered, as: UTF8.self), keys: parties.keys)) != nil { accepted += 1 }
        }
        #expect(accepted == 0)
    }
}

struct `A request for keys` {
    let parties = LicenseParties()

    func request() -> KeyRequest {
        var request = KeyRequest(
            id: "r1",
            environment: "live",
            session: .persist,
            contentID: "cid:x",
            nonce: "n",
            clock: LicenseParties.start,
            level: .os
        )
        request.keyIDs = [LicenseParties.kid]
        (request.token, request.sequence, request.revocations, request.trustedTime) = ("t", 3, 4, LicenseParties.start)
        (request.bootID, request.secondsSinceBoot, request.capabilities) = ("b", 5, ["metering"])
        return request
    }

    func sealed(_ request: KeyRequest, to key: P256.PublicKey? = nil) async throws -> (text: String, digest: [UInt8]) {
        let signing = parties.signing
        return try await request.sealed(
            certificate: [UInt8](repeating: 9, count: 32),
            to: key ?? parties.service.publicKey
        ) { signing.sign($0.rawSpan) }
    }

    var privateKeys: [String: P256.PrivateKey] { [JWK.p256(parties.service.publicKey).thumbprint: parties.service] }

    @Test func `is read by the service, and only with the key of the certificate`() async throws {
        let (text, digest) = try await sealed(request())
        let read = try KeyRequest.Unverified(text, environment: "live", keys: privateKeys)
        #expect(read.certificate == [UInt8](repeating: 9, count: 32) && read.digest == digest)
        #expect(try read.verified(by: parties.signing.publicKey) == request())
        #expect(throws: RightsError(.signature)) { try read.verified(by: P256.PrivateKey().publicKey) }
    }

    @Test func `is refused by another service, by another environment, and when it is too long`() async throws {
        let (text, _) = try await sealed(request())
        #expect(throws: RightsError(.key)) { try KeyRequest.Unverified(text, environment: "live", keys: [:]) }
        #expect(throws: RightsError(.malformed)) { try KeyRequest.Unverified(text, environment: "qa", keys: privateKeys) }
        #expect(throws: RightsError(.malformed)) {
            try KeyRequest.Unverified(String(repeating: "A", count: 40_000), environment: "live", keys: privateKeys)
        }
        let (other, _) = try await sealed(request(), to: P256.PrivateKey().publicKey)
        #expect(throws: RightsError(.key)) { try KeyRequest.Unverified(other, environment: "live", keys: privateKeys) }
    }
}

struct `An evaluation` {
    let parties = LicenseParties()
    static let start = LicenseParties.start

    func evaluation(
        at time: Duration = .zero,
        _ certainty: TrustedClock.Certainty = .signed,
        host: HostCapabilities = HostCapabilities(),
        revocations: Revocations? = nil
    ) -> Evaluation {
        Evaluation(
            player: "player-1",
            serial: "0a",
            host: host,
            time: .init(instant: Self.start + time, certainty: certainty),
            revocations: revocations
        )
    }

    func record(_ change: (inout LicenseTerms) -> Void = { _ in }, obligations: [Obligation] = []) -> LicenseRecord {
        var terms = LicenseTerms()
        change(&terms)
        return LicenseRecord(parties.make(terms: terms, obligations: obligations))
    }

    @Test func `grants what has no limit, and nothing without a license or on another device`() {
        #expect(
            evaluation().check(.play, record())
                == ActionResult(
                    reason: nil,
                    until: nil,
                    secondsLeft: nil,
                    usableKeyIDs: record().license.keys.map(\.id.hex),
                    maxPixels: nil,
                    obligations: [],
                    unmet: [],
                    callbacks: [.onStop]
                )
        )
        #expect(evaluation().check(.play, nil).reason == .noLicense)
        let foreign = LicenseRecord(parties.make(player: "player-2"))
        #expect(evaluation().check(.play, foreign).reason == .deviceMismatch)
    }

    @Test func `follows the two clocks of a rental`() {
        var rental = record {
            ($0.notAfter, $0.storageSeconds, $0.playbackSeconds) = (Self.start + .seconds(1000), 500, 100)
        }
        #expect(evaluation(at: .seconds(499)).check(.play, rental).until == Self.start + .seconds(599))
        #expect(evaluation(at: .seconds(499)).check(.play, rental).secondsLeft == 100)
        #expect(evaluation(at: .seconds(500)).check(.play, rental).reason == .expiredStorage)
        let (result, played) = evaluation(at: .seconds(450)).perform(.play, rental)
        #expect(result.isGranted && played?.firstPlay == Self.start + .seconds(450) && played?.plays == 1)
        rental = played ?? rental
        // the first clock has stopped, the second runs
        #expect(evaluation(at: .seconds(549)).check(.play, rental).isGranted)
        #expect(evaluation(at: .seconds(550)).check(.play, rental).reason == .expiredPlayback)
        let again = evaluation(at: .seconds(500)).perform(.play, rental).record
        #expect(again?.firstPlay == Self.start + .seconds(450), "the second clock starts once")
        // the end counts whatever else is said
        var late = record { ($0.notAfter, $0.playbackSeconds) = (Self.start + .seconds(60), 100) }
        late.firstPlay = Self.start
        #expect(evaluation(at: .seconds(60)).check(.play, late).reason == .expiredPlayback)
    }

    @Test func `checks without changing anything`() {
        let limited = record { $0.playCount = 1 }
        #expect(evaluation().check(.play, limited).isGranted && evaluation().check(.play, limited).isGranted)
        let played = evaluation().perform(.play, limited).record
        #expect(evaluation().check(.play, played).reason == .countExhausted)
        #expect(evaluation().perform(.play, played).record == played)
        let exported = evaluation().perform(.export, limited).record
        #expect(exported?.plays == 0, "only playing and reading count")
        #expect(exported?.firstPlay == Self.start, "each use starts the second clock")
    }

    @Test func `begins when it says, and holds a lease until it is renewed`() {
        let later = record { $0.notBefore = Self.start + .seconds(10) }
        #expect(evaluation(at: .seconds(9)).check(.play, later).reason == .notYetValid)
        #expect(evaluation(at: .seconds(10)).check(.play, later).isGranted)
        var stream = record { $0.leaseSeconds = 360 }
        #expect(evaluation(at: .seconds(359)).check(.play, stream).until == Self.start + .seconds(360))
        #expect(!evaluation(at: .seconds(360)).check(.play, stream).isGranted)
        stream.leaseRenewedAt = Self.start + .seconds(300)
        #expect(evaluation(at: .seconds(659)).check(.play, stream).isGranted)
        #expect(!evaluation(at: .seconds(660)).check(.play, stream).isGranted)
    }

    @Test(arguments: [
        (TrustedClock.Certainty.signed, nil as ActionResult.Reason?), (.estimated, nil), (.farAhead, nil),
        (.rolledBack, .clockRollback), (.unreadable, .expiredStorage),
    ])
    func `stops what is limited in time when the clock is not to be trusted, and nothing else`(
        certainty: TrustedClock.Certainty,
        reason: ActionResult.Reason?
    ) {
        let rental = record { $0.notAfter = Self.start + .seconds(1000) }
        #expect(evaluation(certainty).check(.play, rental).reason == reason)
        #expect(evaluation(certainty).check(.play, record()).isGranted)
        let counted = record { $0.playCount = 2 }
        #expect(evaluation(certainty).check(.play, counted).isGranted)
    }

    func evaluation(_ certainty: TrustedClock.Certainty) -> Evaluation { evaluation(at: .zero, certainty) }

    @Test func `starts no rental while the clock may be wrong, and continues none from the future`() {
        let rental = record { ($0.notAfter, $0.playbackSeconds) = (Self.start + .seconds(90 * 86_400), 100) }
        let far = evaluation(at: .seconds(40 * 86_400), .farAhead).perform(.play, rental)
        #expect(far.result.reason == .clockRollback && far.record == rental)
        var played = rental
        played.firstPlay = Self.start + .seconds(40 * 86_400)
        #expect(evaluation(at: .seconds(60), .estimated).check(.play, played).reason == .clockRollback)
    }

    @Test func `refuses a time before the license was issued`() {
        let rental = record { $0.notAfter = Self.start + .seconds(1000) }
        #expect(evaluation(at: .seconds(-301), .estimated).check(.play, rental).reason == .clockRollback)
        #expect(evaluation(at: .seconds(-299), .estimated).check(.play, rental).isGranted)
    }

    @Test func `denies what is critical and not met, and reports what is neither`() {
        var host = HostCapabilities()
        let critical = record(obligations: [.init(.outputProtection, isCritical: true)])
        #expect(evaluation(host: host).check(.play, critical).reason == .unsupportedObligation)
        host.obligations = ["output-protection"]
        let met = evaluation(host: host).check(.play, critical)
        #expect(met.isGranted && met.obligations.count == 1 && met.callbacks.contains(.onOutputChange))
        let unknown = record(obligations: [.init(type: "of-tomorrow", isCritical: true)])
        #expect(evaluation(host: host).check(.play, unknown).reason == .unsupportedObligation)
        let soft = record(obligations: [.init(type: "of-tomorrow", isCritical: false)])
        let reported = evaluation(host: host).check(.play, soft)
        #expect(reported.isGranted && reported.unmet.map(\.type) == ["of-tomorrow"])
        let image = record(obligations: [.init(.imageConstraint, parameters: ["pixels": 520_000], isCritical: false)])
        #expect(evaluation(host: host).check(.play, image).maxPixels == 520_000)
    }

    @Test func `lets plain bytes out only where the default output rule is lifted`() {
        #expect(evaluation().check(.read, record(), needsOpenOutput: true).reason == .outputNotAllowed)
        let open = record(obligations: [.init(type: "wudo", isCritical: false)])
        #expect(evaluation().check(.read, open, needsOpenOutput: true).isGranted)
        var host = HostCapabilities()
        host.protectsOutputs = true
        #expect(evaluation(host: host).check(.read, record(), needsOpenOutput: true).isGranted)
        let closed = record(obligations: [.init(.noExport, isCritical: false), .init(.noPrint, isCritical: false)])
        #expect(evaluation().check(.export, closed).reason == .outputNotAllowed)
        #expect(evaluation().check(.print, closed).reason == .outputNotAllowed)
        #expect(evaluation().check(.play, closed).isGranted)
    }

    @Test func `refuses what is revoked, and an old list of it`() {
        func list(
            _ number: Int,
            licenses: Set<String> = [],
            keyIDs: Set<String> = [],
            serials: Set<String> = []
        ) -> Revocations {
            Revocations(
                number: number,
                serials: serials,
                licenses: licenses,
                keyIDs: keyIDs,
                validity: Self.start...(Self.start + .seconds(1))
            )
        }
        let record = LicenseRecord(parties.make(minimumRevocations: 3))
        #expect(evaluation().check(.play, record).reason == .revoked)
        #expect(evaluation(revocations: list(2)).check(.play, record).reason == .revoked)
        #expect(evaluation(revocations: list(3)).check(.play, record).isGranted)
        #expect(evaluation(revocations: list(4, licenses: ["license-1"])).check(.play, record).reason == .revoked)
        #expect(evaluation(revocations: list(4, serials: ["0a"])).check(.play, record).reason == .revoked)
        #expect(evaluation(revocations: list(4, serials: ["0b"])).check(.play, record).isGranted)
        #expect(evaluation(revocations: list(4, keyIDs: [LicenseParties.kid.hex])).check(.play, record).reason == .revoked)
        #expect(evaluation(revocations: list(4, keyIDs: [LicenseParties.other.hex])).check(.play, record).isGranted)
    }
}
