// SPDX-License-Identifier: Apache-2.0

import CRightsLoops
import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON
import CarrelRights
import CarrelTokens
import CarrelVault
import Glibc

/// A service and one player of it, in memory.
struct Parties {
    let environment = "live"
    let now = Instant.now().wholeSecond
    let agreement = P256.PrivateKey()
    let license = Ed25519.PrivateKey.generate()
    let time = Ed25519.PrivateKey.generate()
    let devices: CertificateAuthority
    let trust: TrustDocument
    let tokens = SealedToken.Key(id: 1, secret: .random(count: 32))
    let player = Random.uuid()
    let signing = P256.PrivateKey()
    let playerAgreement = P256.PrivateKey()
    let certificate: [UInt8]
    let kid = KeyID(label: "film")
    let contentKey = Secret.random(count: 16)

    init() throws {
        let root = P256.PrivateKey()
        let validity = now...(now + .seconds(86_400 * 90))
        let authority = try CertificateAuthority.root(name: "root", key: root, validity: validity)
        devices = authority
        let keys: [ServiceKeys.Key] = [
            .init(use: .license, key: .ed25519(license.publicKey), validity: validity),
            .init(use: .time, key: .ed25519(time.publicKey), validity: validity),
            .init(use: .agreement, key: .p256(agreement.publicKey), validity: validity),
        ]
        let document = ServiceKeys(
            environment: environment,
            number: 1,
            keys: keys,
            authorities: [authority.certificate],
            validity: validity
        )
        trust = TrustDocument(root: authority.certificate, rollovers: [], keys: document.signed(by: root))
        certificate = PlayerCertificate.issue(
            by: devices,
            player: player,
            key: signing.publicKey,
            level: .passphrase,
            validity: validity
        )
    }

    /// A request for a license, as the player sends it, and the signed text in it.
    func request(token: String) async throws -> (text: String, signed: String) {
        var request = KeyRequest(
            id: Random.uuid(),
            environment: environment,
            session: .persist,
            contentID: "",
            nonce: Base64URL.encode(Random.bytes(40)),
            clock: now,
            level: .passphrase
        )
        request.token = token
        request.bootID = Random.uuid()
        let signing = signing
        let thumbprint = SHA256.hash(certificate.rawSpan)
        var input: [UInt8] = []
        var signature: [UInt8] = []
        let sealed = try await request.sealed(certificate: thumbprint, to: agreement.publicKey) { bytes in
            (input, signature) = (bytes, signing.sign(bytes.rawSpan))
            return signature
        }
        return (sealed.text, String(decoding: input, as: UTF8.self) + "." + Base64URL.encode(signature))
    }

    func token() throws -> String {
        var rules = BusinessRules(kind: .license, expiresAt: now + .seconds(86_400))
        rules.contents = [.init(contentID: "cid:film", keyID: kid, key: contentKey)]
        rules.rights = .buyToOwn
        rules.isStorable = true
        return try SealedToken.seal(rules, under: tokens).text
    }

    /// The service's work for one license, apart from its database.
    func issue(_ text: String) throws -> String {
        let sealed = try KeyRequest.Unverified(
            text,
            environment: environment,
            keys: [JWK.p256(agreement.publicKey).thumbprint: agreement]
        )
        let request = try sealed.verified(by: PlayerCertificate.key(ofKnown: certificate))
        let rules = try SealedToken.open(request.token ?? "", as: .license, keys: [tokens.id: tokens.secret], at: now)
        let id = Random.uuid(at: now)
        let coordinates = playerAgreement.publicKey.coordinates
        let point = try P256.PublicKey(x: Array(coordinates.prefix(32)), y: Array(coordinates.suffix(32)))
        let keys = rules.contents.compactMap { content in
            content.key.map {
                License.Key(id: content.keyID, sealed: License.seal($0, id: content.keyID, license: id, to: point))
            }
        }
        var terms = LicenseTerms()
        terms.isStorable = rules.isStorable
        return License(
            id: id,
            sequence: 1,
            player: player,
            contentID: rules.contents[0].contentID,
            request: sealed.digest,
            nonce: request.nonce,
            issuedAt: now,
            terms: terms,
            obligations: [],
            keys: keys,
            minimumRevocations: 1,
            offered: request.versions
        ).signed(by: license)
    }

    func personalization() async throws -> String {
        let signing = signing
        return try await PersonalizationRequest.make(
            nonce: Base64URL.encode(Random.bytes(40)),
            signingKey: signing.publicKey,
            agreementKey: playerAgreement.publicKey,
            fingerprint: Random.bytes(32),
            level: .passphrase,
            app: "Reader",
            build: "1.0",
            deviceName: "phone",
            clock: now
        ) { signing.sign($0.rawSpan) }
    }

    /// The service's work for one certificate, apart from its database.
    func personalize(_ text: String) throws -> (answer: [UInt8], time: String) {
        let request = try PersonalizationRequest(text)
        let der = PlayerCertificate.issue(
            by: devices,
            player: Random.uuid(at: now),
            key: request.signingKey,
            level: request.level,
            validity: now...(now + .seconds(86_400 * 90))
        )
        let thumbprint = try Certificate(der: der).thumbprint
        precondition(thumbprint.count == 32)
        let time = TrustedTime(instant: now, nonce: request.nonce).signed(by: time)
        let response = PersonalizationResponse(
            player: player,
            certificate: der,
            renewAt: now,
            trust: trust,
            revocations: time,
            time: time
        )
        return (response.json.write(), time)
    }

    /// The loop in C over messages of this player.
    func loop(_ request: (text: String, signed: String), license: String) async throws -> OpaquePointer {
        guard let loop = unsafe rights_loop_new() else { fatalError("the C loop has no memory") }
        func set(_ part: rights_part, _ bytes: [UInt8]) { unsafe rights_loop_set(loop, part, bytes, bytes.count) }
        func parts(_ text: String) -> (input: [UInt8], signature: [UInt8]) {
            let list = text.split(separator: ".")
            return (Array((list[0] + "." + list[1]).utf8), Base64URL.decode(String(list[2])) ?? [])
        }
        let signed = parts(request.signed)
        set(rights_signed, signed.input)
        set(rights_signature, signed.signature)
        set(rights_certificate, certificate)
        set(rights_signer, [0x04] + signing.publicKey.coordinates)
        set(rights_agreement, [0x04] + playerAgreement.publicKey.coordinates)
        set(rights_request, Array(request.signed.utf8))
        set(rights_header, Array(request.text.prefix { $0 != "." }.utf8))
        set(rights_token, Array(try token().utf8))
        set(rights_license, parts(license).input)
        let personalization = try await personalization()
        let (input, signature) = parts(personalization)
        set(rights_personalization, input)
        set(rights_personalization_signature, signature)
        set(rights_certification, try PersonalizationRequest(personalization).certificationRequest)
        set(rights_certificate_body, Array(certificate.dropLast(80)))
        set(rights_time, parts(try personalize(personalization).time).input)
        guard unsafe rights_loop_prepare(loop) == 1 else { fatalError("the C loop cannot encrypt") }
        return unsafe loop
    }
}

@concurrent
func measureMessages() async throws {
    let parties = try Parties()
    let request = try await parties.request(token: try parties.token())
    let license = try parties.issue(request.text)
    let loop = unsafe try await parties.loop(request, license: license)
    let times = 400
    var issued = 0
    try await report("license issued", times: times) {
        for _ in 0..<times { issued = try parties.issue(request.text).utf8.count }
    } floor: {
        let done = unsafe rights_loop_issue(loop, Int32(times))
        precondition(done == 1)
    }
    let personalization = try await parties.personalization()
    try await report("player personalised", times: times) {
        for _ in 0..<times { issued = try parties.personalize(personalization).answer.count }
    } floor: {
        let done = unsafe rights_loop_personalize(loop, Int32(times))
        precondition(done == 1)
    }
    precondition(issued > 1000)
}

/// Prints how many licenses the C loop issues in a second, and in a second of processor time.
func printIssueRate(seconds: Double) async throws {
    let parties = try Parties()
    let request = try await parties.request(token: try parties.token())
    let loop = unsafe try await parties.loop(request, license: try parties.issue(request.text))
    let (start, begun) = (time(CLOCK_MONOTONIC), time(CLOCK_PROCESS_CPUTIME_ID))
    var count = 0
    while time(CLOCK_MONOTONIC) - start < seconds {
        let done = unsafe rights_loop_issue(loop, 100)
        precondition(done == 1)
        count += 100
    }
    print(
        rounded(Double(count) / (time(CLOCK_MONOTONIC) - start)),
        rounded(Double(count) / (time(CLOCK_PROCESS_CPUTIME_ID) - begun))
    )
}

func insertRate(_ path: String, seconds: Double) -> Double { rounded(unsafe rights_loop_insert(path, seconds)) }
