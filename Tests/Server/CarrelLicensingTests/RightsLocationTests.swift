// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJOSE
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

/// An answer of the rights location.
struct RightsAnswer {
    let status: Int
    let headers: HTTPFields
    let body: [UInt8]

    var problem: JSON? { status == 200 ? nil : try? JSON.parse(body.rawSpan) }
    var code: String? { problem?["code"]?.string }

    func license(_ keys: ServiceKeys) throws -> License { try License(String(decoding: body, as: UTF8.self), keys: keys) }
}

extension TestService {
    /// Asks the rights location, in process.
    func rights(
        _ query: String,
        _ method: HTTPMethod = .get,
        certificate: ClientCertificate? = nil,
        proofs: [String] = [],
        form: String? = nil,
        authority: String = "localhost"
    ) async throws -> RightsAnswer {
        var headers: HTTPFields = [:]
        for proof in proofs { headers.append("DPoP", proof) }
        if form != nil { headers["Content-Type"] = "application/x-www-form-urlencoded" }
        var request = HTTPRequest(
            method,
            "/hms/ms3/rights/\(query)",
            headers: headers,
            body: Array((form ?? "").utf8),
            peer: .network(address: "192.0.2.1", port: 1),
            authority: authority
        )
        request.clientCertificate = certificate
        let response = await service.router.respond(to: request)
        return RightsAnswer(
            status: response.status.rawValue,
            headers: response.headers,
            body: try await response.body.collect(upTo: 1 << 20)
        )
    }
}

extension TestPlayer.Personalized {
    static let rights = "http://localhost/hms/ms3/rights/"

    /// A proof for a token, as the player makes it.
    func proof(
        _ token: String,
        at now: Instant,
        method: HTTPMethod = .get,
        url: String = rights
    ) async throws -> DPoPProof.Made {
        let signing = player.signing
        return try await DPoPProof.make(
            method: method,
            url: url,
            token: token,
            signingKey: signing.publicKey,
            now: now
        ) { signing.sign($0.rawSpan) }
    }
}

@Suite(.onBothDatabases) struct `A stream's token redeemed with a proof of possession` {
    let tokens = `A token redeemed for a license`()

    @Test func `is a license that is encrypted to the player, repeats the proof, and is not to be kept`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        let proof = try await player.proof(token, at: test.clock.now, url: TestPlayer.Personalized.rights + "?b=x#y")
        let answer = try await test.rights("?b=\(token)", proofs: [proof.text])
        #expect(answer.status == 200, "\(answer.problem as Any)")
        #expect(answer.headers["Content-Type"] == "application/jose" && answer.headers["Cache-Control"] == "no-store")
        let license = try answer.license(player.keys)
        #expect(license.player == player.id && license.request == proof.digest && license.nonce == proof.id)
        #expect(!license.terms.isStorable && license.session == license.id && license.contentID == "cid:film")
        let agreement = player.player.agreement
        #expect(
            try await license.open(`A token redeemed for a license`.kid) { agreement.sharedSecret(with: $0) }
                == `A token redeemed for a license`.key
        )
        let posted = try await player.proof(token, at: test.clock.now, method: .post)
        let again = try await test.rights("", .post, proofs: [posted.text], form: "b=\(token)")
        #expect(again.status == 200, "\(again.problem as Any)")
        let second = try again.license(player.keys)
        #expect(second.id == license.id && second.sequence == 2, "the same player gets the same license")
    }

    @Test func `takes each proof once`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        let proof = try await player.proof(token, at: test.clock.now)
        #expect(try await test.rights("?b=\(token)", proofs: [proof.text]).status == 200)
        let replayed = try await test.rights("?b=\(token)", proofs: [proof.text])
        #expect(replayed.status == 401 && replayed.code == "license.proof-used")
        test.clock.advance(by: .seconds(299))
        #expect(try await test.rights("?b=\(token)", proofs: [proof.text]).code == "license.proof-used")
        test.clock.advance(by: .seconds(2))
        #expect(try await test.rights("?b=\(token)", proofs: [proof.text]).code == "license.proof")
    }

    @Test func `takes a proof once, however many send it at the same time and to which node`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        let proof = try await player.proof(token, at: test.clock.now)
        let other = try await test.another()
        let codes = await withTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                let router = number % 2 == 0 ? test.service.router : other.router
                let request = HTTPRequest(.get, "/hms/ms3/rights/?b=\(token)", headers: ["DPoP": proof.text])
                group.addTask { await router.respond(to: request).status.rawValue }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == 200 } == 1 && codes.count { $0 == 401 } == 7, "\(codes)")
    }

    @Test func `takes a proof of this token, request and time alone`() async throws {
        let test = try await TestService(with: .licensing) { $0.stream.publicURL = "https://books.example.org/carrel" }
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        let now = test.clock.now
        func code(_ proof: DPoPProof.Made, _ method: HTTPMethod = .get) async throws -> String? {
            try await test.rights("?b=\(token)", method, proofs: [proof.text]).code
        }
        let other = try await tokens.token(test, kind: .ms3)
        #expect(try await code(player.proof(other, at: now)) == "license.proof")
        #expect(try await code(player.proof(token, at: now, method: .post)) == "license.proof")
        #expect(try await code(player.proof(token, at: now), .post) == "license.proof")
        for url in [
            "https://localhost/hms/ms3/rights/", "http://localhost:81/hms/ms3/rights/", "http://localhost/hms/ms3/token",
            "http://example.org/hms/ms3/rights/", "http://localhost/", "localhost/hms/ms3/rights/", "",
            "http://localhost/hms/ms3/rights/x", "http://LOCALHOST/HMS/ms3/rights/",
        ] {
            #expect(try await code(player.proof(token, at: now, url: url)) == "license.proof", "\(url)")
        }
        for url in [
            "http://localhost:80/hms/ms3/rights", "HTTP://LOCALHOST/hms/ms3/rights/",
            "https://books.example.org:443/carrel/hms/ms3/rights/",
        ] {
            #expect(try await code(player.proof(token, at: now, url: url)) == nil, "\(url)")
        }
        for (seconds, expected) in [(-301, "license.proof"), (-300, nil), (300, nil), (301, "license.proof")] as [(Int, String?)]
        {
            #expect(try await code(player.proof(token, at: now + .seconds(seconds))) == expected, "\(seconds)")
        }
    }

    @Test func `takes no other key, algorithm or type`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        let signing = player.player.signing
        let jwk = JWK.p256(signing.publicKey).json
        func answer(
            _ header: (inout JSONObject) -> Void = { _ in },
            _ payload: (inout JSONObject) -> Void = { _ in },
            sign: ([UInt8]) -> [UInt8]
        ) async throws -> String? {
            var head: JSONObject = ["alg": "ES256", "typ": "dpop+jwt", "jwk": jwk]
            var claims: JSONObject = [
                "jti": .string(Random.uuid()), "htm": "GET", "htu": .string(TestPlayer.Personalized.rights),
                "iat": test.clock.now.numericDate,
                "ath": .string(Base64URL.encode(SHA256.hash(Array(token.utf8).rawSpan))),
            ]
            header(&head)
            payload(&claims)
            let input = "\(Base64URL.encode(JSON.object(head).write())).\(Base64URL.encode(JSON.object(claims).write()))"
            let text = "\(input).\(Base64URL.encode(sign(Array(input.utf8))))"
            return try await test.rights("?b=\(token)", proofs: [text]).code
        }
        let right: ([UInt8]) -> [UInt8] = { signing.sign($0.rawSpan) }
        #expect(try await answer(sign: right) == nil)
        let symmetric = HMACSHA256(key: Secret(signing.publicKey.coordinates))
        for (algorithm, sign) in [
            ("none", { _ in [] }), ("HS256", { symmetric.authenticate($0.rawSpan) }), ("RS256", right), ("EdDSA", right),
        ] as [(String, ([UInt8]) -> [UInt8])] {
            #expect(try await answer({ $0["alg"] = .string(algorithm) }, sign: sign) == "license.proof", "\(algorithm)")
        }
        #expect(try await answer({ $0["typ"] = "JWT" }, sign: right) == "license.proof")
        #expect(try await answer({ $0["typ"] = "cpk-req+jwt" }, sign: right) == "license.proof")
        #expect(try await answer({ $0["jwk"] = nil }, sign: right) == "license.proof")
        #expect(try await answer({ $0["jku"] = "https://example.org/keys" }, sign: right) == "license.proof")
        let scalar = signing.scalar.withBytes { [UInt8](copying: $0) }
        let leaked = { (header: inout JSONObject) in
            var key = jwk.object ?? [:]
            key["d"] = .string(Base64URL.encode(scalar))
            header["jwk"] = .object(key)
        }
        #expect(try await answer(leaked, sign: right) == "license.proof")
        let unknown = P256.PrivateKey()
        #expect(try await answer(sign: { unknown.sign($0.rawSpan) }) == "license.proof")
        let own = { (header: inout JSONObject) in header["jwk"] = JWK.p256(unknown.publicKey).json }
        #expect(try await answer(own, sign: { unknown.sign($0.rawSpan) }) == "license.not-personalized")
        // the key for agreement is the player's too, and does not sign
        let agreement = player.player.agreement
        let wrong = { (header: inout JSONObject) in header["jwk"] = JWK.p256(agreement.publicKey).json }
        #expect(try await answer(wrong, sign: { agreement.sign($0.rawSpan) }) == "license.not-personalized")
        for name in ["jti", "htm", "htu", "iat", "ath"] {
            #expect(try await answer({ _ in }, { $0[name] = nil }, sign: right) == "license.proof", "\(name)")
        }
        #expect(
            try await answer({ _ in }, { $0["jti"] = .string(String(repeating: "a", count: 129)) }, sign: right)
                == "license.proof"
        )
        let proof = try await player.proof(token, at: test.clock.now)
        #expect(try await test.rights("?b=\(token)", proofs: [proof.text, proof.text]).code == "license.proof")
        #expect(try await test.rights("?b=\(token)", proofs: [""]).code == "license.proof")
        #expect(try await test.rights("?b=\(token)", proofs: [String(repeating: "a", count: 5000)]).code == "license.proof")
    }

    @Test func `is refused to a player that is suspended, revoked or without a valid certificate`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3) { $0.expiresAt = test.clock.now + .seconds(100 * 86_400) }
        func code() async throws -> String? {
            try await test.rights("?b=\(token)", proofs: [try await player.proof(token, at: test.clock.now).text]).code
        }
        _ = try await test.service.players.change(player.id, .suspend, by: .operator)
        #expect(try await code() == "personalization.suspended")
        var filter = AuditFilter()
        filter.action = "license.deny"
        #expect(try await test.service.audit.list(filter).map(\.reason) == ["personalization.suspended"])
        _ = try await test.service.players.change(player.id, .resume, by: .operator)
        #expect(try await code() == nil)
        test.clock.advance(by: .seconds(90 * 86_400))
        #expect(try await code() == "license.not-personalized")
        test.clock.advance(by: .seconds(-90 * 86_400))
        _ = try await test.service.players.change(player.id, .revoke, by: .operator)
        #expect(try await code() == "personalization.revoked")
    }
}

@Suite(.onBothDatabases) struct `A stream's token redeemed with a certificate` {
    let tokens = `A token redeemed for a license`()

    @Test func `is a license with the digest of the token`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let der = player.certificate.der
        let token = try await tokens.token(test, kind: .ms3)
        for certificate in [ClientCertificate.verified(der), .forwarded(der)] {
            let answer = try await test.rights("?b=\(token)", certificate: certificate)
            #expect(answer.status == 200, "\(answer.problem as Any)")
            let license = try answer.license(player.keys)
            #expect(license.request == SHA256.hash(Array(token.utf8).rawSpan) && license.nonce.isEmpty)
            #expect(license.player == player.id && !license.terms.isStorable)
        }
        let other = try await TestPlayer().personalized(by: test)
        let used = try await test.rights("?b=\(token)", certificate: .verified(other.certificate.der))
        #expect(used.status == 409 && used.code == "license.token-used")
    }

    @Test func `needs one of a player of this service, now`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3) { $0.expiresAt = test.clock.now + .seconds(100 * 86_400) }
        func refusal(_ certificate: ClientCertificate?) async throws -> String? {
            let answer = try await test.rights("?b=\(token)", certificate: certificate)
            #expect(answer.status == 401 && answer.problem?["number"] == -4001)
            #expect(answer.headers["WWW-Authenticate"] == "DPoP algs=\"ES256\"" && answer.headers["Cache-Control"] == "no-store")
            return answer.code
        }
        let foreign = try await TestPlayer().personalized(by: try await TestService(with: .licensing))
        let keys = try await test.service.authority.keys()
        let server = try await test.service.authority.serverCertificate(names: ["localhost"], addresses: [])
        let now = test.clock.now
        // issued by the right authority, and not a player that the service knows
        let unknown = PlayerCertificate.issue(
            by: keys.devices,
            player: player.id,
            key: P256.PrivateKey().publicKey,
            level: player.player.level,
            validity: now...(now + .seconds(600))
        )
        for certificate in [
            nil, .untrusted, .verified([]), .forwarded([1, 2, 3]), .verified(foreign.certificate.der),
            .verified(keys.trust.root), .verified(keys.devices.certificate), .verified(server.certificate), .verified(unknown),
        ] as [ClientCertificate?] {
            #expect(try await refusal(certificate) == "license.not-personalized")
        }
        #expect(try await test.rights("?b=\(token)", certificate: .verified(player.certificate.der)).status == 200)
        test.clock.advance(by: .seconds(91 * 86_400))
        #expect(try await refusal(.verified(player.certificate.der)) == "license.not-personalized")
    }

    @Test func `is refused to a player that is suspended or revoked`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        func code() async throws -> String? {
            try await test.rights("?b=\(token)", certificate: .verified(player.certificate.der)).code
        }
        _ = try await test.service.players.change(player.id, .suspend, by: .operator)
        #expect(try await code() == "personalization.suspended")
        _ = try await test.service.players.change(player.id, .resume, by: .operator)
        #expect(try await code() == nil)
        _ = try await test.service.players.change(player.id, .revoke, by: .operator)
        #expect(try await code() == "personalization.revoked")
    }

    @Test func `is one token, of a stream, and right`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        func answer(_ query: String, _ method: HTTPMethod = .get, form: String? = nil) async throws -> RightsAnswer {
            try await test.rights(query, method, certificate: .verified(player.certificate.der), form: form)
        }
        let token = try await tokens.token(test, kind: .ms3)
        for query in ["", "?b=", "?c=\(token)", "?b=\(token)&b=\(token)"] {
            let refused = try await answer(query)
            #expect(refused.status == 400 && refused.code == "license.token", "\(query)")
        }
        #expect(try await answer("?b=\(token)", .post, form: "b=\(token)").code == "license.token")
        let license = try await answer("?b=\(tokens.token(test))")
        #expect(license.status == 403 && license.code == "license.not-stream")
        for forged in [
            "AAAA", String(token.dropLast(4)) + "AAAA", try await tokens.token(TestService(with: .licensing), kind: .ms3),
        ] {
            let refused = try await answer("?b=\(forged)")
            #expect(refused.status == 403 && refused.code == "license.token", "\(forged)")
        }
        let bound = try await tokens.token(test, kind: .ms3) { $0.deviceThumbprint = Base64URL.encode(Random.bytes(32)) }
        #expect(try await answer("?b=\(bound)").code == "license.token-device")
        #expect(try await test.send(.head, "/hms/ms3/rights/?b=\(token)").status == 405)
        test.clock.advance(by: .seconds(3600))
        #expect(try await answer("?b=\(token)").code == "license.token-expired")
    }

    @Test func `is answered sixty times a minute to one player`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let token = try await tokens.token(test, kind: .ms3)
        var codes: [String?] = []
        for _ in 0..<61 {
            codes.append(try await test.rights("?b=\(token)", certificate: .verified(player.certificate.der)).code)
        }
        #expect(codes.prefix(60).allSatisfy { $0 == nil } && codes.last == "license.throttled")
        let other = try await TestPlayer().personalized(by: test)
        #expect(try await test.rights("?b=\(token)", certificate: .verified(other.certificate.der)).code == "license.token-used")
    }
}

struct `The rights location in tokens` {
    @Test func `is the listener's, else below an https public URL, else missing`() {
        let plain = RightsLocation(publicURL: "http://books.example.org")
        #expect(plain.url == nil && RightsLocation(publicURL: nil).url == nil)
        plain.listens(at: "books.example.org:8443")
        #expect(plain.url == "https://books.example.org:8443/hms/ms3/rights/")
        let secure = RightsLocation(publicURL: "https://books.example.org")
        #expect(secure.url == "https://books.example.org/hms/ms3/rights/")
        let known = RightsLocation(publicURL: "https://books.example.org", listener: "books.example.org:8443")
        #expect(known.url == "https://books.example.org:8443/hms/ms3/rights/")
    }

    @Test func `is the same in tokens that the service makes`() async throws {
        let test = try await TestService(with: .licensing) { $0.rightsListener = "localhost:8443" }
        let (key, text) = try await test.service.accounts.createServiceKey(name: "portal", role: .service, by: .operator)
        func token() async throws -> String {
            let query =
                "customerAuthenticator=\(key.id),\(text)&contentId=cid:x&contentKey=166634c675823c235a4a9446fad52e4d&errorFormat=json"
            return String(decoding: try await test.send(.get, "/hms/ms3/token?\(query)").body, as: UTF8.self)
        }
        #expect(try await token().hasPrefix("https://localhost:8443/hms/ms3/rights/?b="))
        test.service.rightsLocation.listens(at: "localhost:9443")
        #expect(try await token().hasPrefix("https://localhost:9443/hms/ms3/rights/?b="))
    }
}
