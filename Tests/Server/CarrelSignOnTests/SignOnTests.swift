// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelSignOn
import CarrelSubscription
import CarrelTesting
import CarrelUpstream
import Testing

@Suite(.onBothDatabases)
struct `Signing in at a provider` {
    /// A service that trusts a provider which says what the test wants.
    private static func service(
        _ provider: HostileProvider,
        _ configure: (inout SignOnSettings) -> Void = { _ in }
    ) async throws -> TestService {
        try await TestService { settings in
            settings.signOn.provider = try? OpenIDConfiguration(issuer: provider.issuer, clientID: "carrel", scopes: ["profile"])
            configure(&settings.signOn)
        }
    }

    /// The claims of a right token, with what a test changes; nil takes a claim away.
    private static func claims(
        _ provider: HostileProvider,
        _ visit: SignOnVisit,
        _ changes: [String: JSON?] = [:]
    ) -> String {
        let now = visit.test.clock.now.milliseconds / 1000
        var object: JSONObject = [
            "iss": .string(provider.issuer), "aud": "carrel", "sub": "subject-1", "iat": .integer(now),
            "exp": .integer(now + 300),
            "nonce": .string(visit.address["nonce"] ?? ""), "email": "owner@example.org", "preferred_username": "alice",
        ]
        for (name, value) in changes { object[name] = value }
        return String(decoding: JSON.object(object).write(), as: UTF8.self)
    }

    private static let header = #"{"alg":"ES256","kid":"first","typ":"JWT"}"#

    /// Comes back with a token of these claims.
    private static func signIn(
        _ test: TestService,
        _ provider: HostileProvider,
        _ changes: [String: JSON?] = [:],
        header: String = header,
        key: String = "first",
        to path: String? = nil,
        peer: Peer = .network(address: "192.0.2.1", port: 1)
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        let visit = try await SignOnVisit(test, to: path, peer: peer)
        let claims = claims(provider, visit, changes)
        let token = try await provider.certificates.jws(header: header, payload: claims, with: key)
        provider.change { $0.idToken = token }
        return try await visit.back()
    }

    /// The account of the session that an answer opens.
    private static func account(_ test: TestService, _ headers: HTTPFields) async throws -> Account? {
        let cookie = headers.values("Set-Cookie").first { $0.hasPrefix("carrel_session=") }
        guard let token = cookie?.dropFirst("carrel_session=".count).prefix(while: { $0 != ";" }) else { return nil }
        return try await test.service.accounts.account(ofSession: String(token))
    }

    @Test func `asks with PKCE, and opens a session for the issuer's subject`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let visit = try await SignOnVisit(test)
        #expect(visit.address["response_type"] == "code" && visit.address["client_id"] == "carrel")
        #expect(visit.address["scope"] == "openid profile" && visit.address["code_challenge_method"] == "S256")
        #expect(visit.address["redirect_uri"] == "http://localhost/sign-in/oidc/callback")
        let token = try await provider.certificates.jws(header: Self.header, payload: Self.claims(provider, visit), with: "first")
        provider.change { $0.idToken = token }
        let answer = try await visit.back()
        #expect(answer.status == 303 && answer.headers["Location"] == "/")
        #expect(answer.headers["Cache-Control"] == "no-store")
        let account = try #require(try await Self.account(test, answer.headers))
        #expect(account.name == "oidc:subject-1@127.0.0.1:\(provider.issuer.split(separator: ":")[2])")
        let form = try Query(parsing: String(decoding: provider.lastTokenRequest?.body ?? [], as: UTF8.self))
        #expect(form["grant_type"] == "authorization_code" && form["code"] == "code" && form["client_id"] == "carrel")
        #expect(form["redirect_uri"] == "http://localhost/sign-in/oidc/callback" && form["code_verifier"]?.utf8.count == 43)
        let again = try await Self.signIn(test, provider)
        #expect(try await Self.account(test, again.headers) == account)
        let other = try await Self.signIn(test, provider, ["sub": "subject-2"])
        #expect(try await Self.account(test, other.headers)?.id != account.id)
    }

    /// Every way in which a token can lie.
    enum Lie: CaseIterable {
        case issuer, noIssuer, audience, noAudience, severalAudiences, party, otherParty, nonce, noNonce, expired, noExpiry, old
        case future, noIssueTime, notYet, textTime, subject, noSubject, longSubject, numberSubject, accessToken, otherKey
        case unknownKey, none, symmetric, notJSON
    }

    @Test func `rejects forged tokens`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        try await provider.makeKey("second")
        for lie in Lie.allCases {
            test.clock.advance(by: .seconds(61))
            try await check(lie, test, provider)
        }
        #expect(try await Self.signIn(test, provider).status == 303, "the truth is still believed")
    }

    private func check(_ lie: Lie, _ test: TestService, _ provider: HostileProvider) async throws {
        let now = test.clock.now.milliseconds / 1000
        var changes: [String: JSON?] = [:]
        var (header, key) = (Self.header, "first")
        switch lie {
        case .issuer: changes["iss"] = "https://login.example.org"
        case .noIssuer: changes["iss"] = .some(nil)
        case .audience: changes["aud"] = "another"
        case .noAudience: changes["aud"] = .some(nil)
        case .severalAudiences: changes["aud"] = ["carrel", "another"]
        case .party: changes["azp"] = "another"
        case .otherParty: changes = ["aud": ["carrel", "another"], "azp": "another"]
        case .nonce: changes["nonce"] = "another"
        case .noNonce: changes["nonce"] = .some(nil)
        case .expired: changes["exp"] = .integer(now - 121)
        case .noExpiry: changes["exp"] = .some(nil)
        case .old: changes["iat"] = .integer(now - 721)
        case .future: changes["iat"] = .integer(now + 121)
        case .noIssueTime: changes["iat"] = .some(nil)
        case .notYet: changes["nbf"] = .integer(now + 121)
        case .textTime: changes["exp"] = .string("\(now + 300)")
        case .subject: changes["sub"] = ""
        case .noSubject: changes["sub"] = .some(nil)
        case .longSubject: changes["sub"] = .string(String(repeating: "s", count: 256))
        case .numberSubject: changes["sub"] = 1
        case .accessToken: header = #"{"alg":"ES256","kid":"first","typ":"at+jwt"}"#
        case .otherKey: key = "second"
        case .unknownKey: (header, key) = (#"{"alg":"ES256","kid":"second"}"#, "second")
        case .none: header = #"{"alg":"none","kid":"first"}"#
        case .symmetric: header = #"{"alg":"HS256","kid":"first"}"#
        case .notJSON: break
        }
        let answer: (status: Int, headers: HTTPFields, body: [UInt8])
        if lie == .notJSON {
            let visit = try await SignOnVisit(test)
            let token = try await provider.certificates.jws(header: header, payload: "rubbish", with: key)
            provider.change { $0.idToken = token }
            answer = try await visit.back()
        } else {
            answer = try await Self.signIn(test, provider, changes, header: header, key: key)
        }
        #expect(answer.status == 403, "\(lie)")
        #expect(try await Self.account(test, answer.headers) == nil, "\(lie)")
    }

    @Test func `takes a token within two minutes of either clock`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let now = test.clock.now.milliseconds / 1000
        for changes in [["exp": .integer(now - 119)], ["iat": .integer(now + 119)], ["iat": .integer(now - 719)]]
            as [[String: JSON?]]
        {
            #expect(try await Self.signIn(test, provider, changes).status == 303)
        }
        #expect(try await Self.signIn(test, provider, ["aud": ["carrel", "another"], "azp": "carrel"]).status == 303)
    }

    @Test func `needs the browser that started it, its state, and to be the first time`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let (visit, other) = (try await SignOnVisit(test), try await SignOnVisit(test))
        let token = try await provider.certificates.jws(header: Self.header, payload: Self.claims(provider, visit), with: "first")
        provider.change { $0.idToken = token }
        #expect(try await visit.back(cookie: "carrel_sign_on=").status == 403)
        #expect(try await visit.back(cookie: "x=y").status == 403)
        #expect(try await visit.back(cookie: other.cookie).status == 403)
        #expect(try await visit.back(state: other.address["state"]).status == 403)
        #expect(try await visit.back(state: "").status == 403)
        #expect(try await visit.back(more: "&state=\(visit.address["state"] ?? "")").status == 403)
        #expect(try await visit.back(cookie: String(visit.cookie.dropLast(2))).status == 403)
        #expect(!provider.requests.contains("/token"), "nobody asked the provider for those")
        #expect(try await visit.back().status == 303)
        let replayed = try await visit.back()
        #expect(replayed.status == 403)
        #expect(try await Self.account(test, replayed.headers) == nil)
        test.clock.advance(by: .seconds(601))
        #expect(try await other.back().status == 403)
    }

    @Test func `rejects the response of another issuer`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let visit = try await SignOnVisit(test)
        let token = try await provider.certificates.jws(header: Self.header, payload: Self.claims(provider, visit), with: "first")
        provider.change { $0.idToken = token }
        #expect(try await visit.back(more: "&iss=https%3A%2F%2Flogin.example.org").status == 403)
        #expect(try await visit.back(more: "&iss=").status == 403)
        #expect(try await visit.back(more: "&iss=\(PercentEncoding.encode(provider.issuer))").status == 303)
    }

    @Test func `misses no name of the issuer where the provider promises it`() async throws {
        let provider = try await HostileProvider()
        provider.change { $0.description["authorization_response_iss_parameter_supported"] = true }
        let test = try await Self.service(provider)
        #expect(try await Self.signIn(test, provider).status == 403)
    }

    @Test func `leads to nowhere but this server`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let paths = [
            ("/listen/x?y=1", "/listen/x?y=1"), ("https://evil.example", "/"), ("//evil.example", "/"), ("/\\evil.example", "/"),
            ("/\t/evil.example", "/"), ("javascript:alert(1)", "/"), ("", "/"), ("/a\r\nSet-Cookie: x=y", "/"),
        ]
        for (path, target) in paths {
            #expect(try await Self.signIn(test, provider, to: path).headers["Location"] == target)
        }
    }

    @Test func `follows a provider that changes its keys, and asks for them once a minute at most`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        #expect(try await Self.signIn(test, provider).status == 303)
        try await provider.makeKey("second")
        try await provider.publish(["second"])
        let header = #"{"alg":"ES256","kid":"second"}"#
        #expect(try await Self.signIn(test, provider, header: header, key: "second").status == 403, "too soon to ask again")
        test.clock.advance(by: .seconds(61))
        #expect(try await Self.signIn(test, provider, header: header, key: "second").status == 303)
        #expect(try await Self.signIn(test, provider).status == 403, "the old key is gone")
        #expect(provider.requests.filter { $0 == "/keys" }.count == 2)
        #expect(provider.requests.filter { $0.hasSuffix("openid-configuration") }.count == 1)
    }

    @Test func `does not touch accounts that have the same name or address`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let owner = try await test.service.accounts.findOrCreate(named: "owner@example.org")
        let host = provider.issuer.dropFirst("http://".count)
        let taken = try await test.service.accounts.findOrCreate(named: "oidc:subject-1@\(host)")
        let answer = try await Self.signIn(test, provider)
        let account = try #require(try await Self.account(test, answer.headers))
        #expect(![alice.id, owner.id, taken.id].contains(account.id))
    }

    @Test func `signs in linked users, and no others if accounts are not created`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider) { $0.createsAccounts = false }
        #expect(try await Self.signIn(test, provider).status == 403)
        let bob = try await test.service.accounts.findOrCreate(named: "bob")
        let path = "/admin/v1/accounts/\(bob.id)/identities"
        let identity: JSON = ["issuer": .string(provider.issuer), "subject": "subject-1"]
        let operatorPeer = Peer.local(userID: 0)
        #expect(try await test.call(.post, path, body: identity).status == 401)
        #expect(try await test.call(.post, path, body: identity, peer: operatorPeer).status == 201)
        #expect(try await test.call(.post, path, body: identity, peer: operatorPeer).status == 409)
        let answer = try await Self.signIn(test, provider)
        #expect(try await Self.account(test, answer.headers)?.id == bob.id)
        let list = try await test.call(.get, path, peer: operatorPeer).json["identities"]?.array
        #expect(list?.count == 1 && list?.first?["subject"] == "subject-1")
        let query = "?issuer=\(PercentEncoding.encode(provider.issuer))&subject=subject-1"
        #expect(try await test.call(.delete, path + query, peer: operatorPeer).status == 204)
        #expect(try await test.call(.delete, path + query, peer: operatorPeer).status == 404)
        #expect(try await Self.signIn(test, provider).status == 403)
    }

    @Test func `does not let suspended accounts in`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let account = try #require(try await Self.account(test, try await Self.signIn(test, provider).headers))
        try await test.service.desk.setSuspended(true, account.id, by: AuditActor("operator"))
        let answer = try await Self.signIn(test, provider)
        #expect(answer.status == 403 && String(decoding: answer.body, as: UTF8.self).contains("suspended"))
    }

    @Test func `gives the plans and the role of groups, and takes them when a group is left`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider) {
            $0.plans = ["readers": "gold"]
            $0.roles = ["staff": .support, "bosses": .admin]
        }
        try await test.service.subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: AuditActor("operator"))
        func entitlement(_ groups: JSON) async throws -> (account: Account, hasPlan: Bool, role: Role) {
            let answer = try await Self.signIn(test, provider, ["groups": groups])
            guard let account = try await Self.account(test, answer.headers) else {
                throw ServerError(.notFound, "nobody signed in")
            }
            let held = try await test.service.subscriptions.entitlement(of: account)
            #expect(held.subscriptions.count <= 2)
            return (account, held.hasCurrentSubscription(at: test.clock.now), try await test.service.staff.role(of: account.id))
        }
        var found = try await entitlement(["readers", "others"])
        #expect(found.hasPlan && found.role == .reader)
        let first = try await test.service.subscriptions.entitlement(of: found.account).subscriptions.first
        #expect(first?.endsAt == test.clock.now + .seconds(30 * 24 * 3600))
        test.clock.advance(by: .seconds(24 * 3600))
        found = try await entitlement(["staff", "readers"])
        #expect(found.hasPlan && found.role == .support)
        try await test.add(product: "issue-1")
        let token = try await test.service.accounts.issueSession(for: found.account)
        let granted = try await test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        guard let pair = granted.pair else {
            Issue.record("no credentials: \(granted.xml)")
            return
        }
        test.clock.advance(by: .seconds(2))
        #expect(await test.opening(pair, "issue-1") == .opens)
        found = try await entitlement("bosses")
        #expect(!found.hasPlan && found.role == .admin)
        test.clock.advance(by: .seconds(2))
        #expect(await test.opening(pair, "issue-1") != .opens, "what the group gave is over")
        var filter = AuditFilter()
        filter.actor = found.account.id
        let entries = try await test.service.audit.list(filter).filter { $0.action.hasPrefix("subscription.") }
        #expect(
            entries.reversed().map { "\($0.action) \($0.reason)" } == [
                "subscription.create oidc", "subscription.extend oidc", "subscription.end oidc",
            ]
        )
        found = try await entitlement(.null)
        #expect(!found.hasPlan && found.role == .reader)
        found = try await entitlement(["readers"])
        #expect(found.hasPlan)
        test.clock.advance(by: .seconds(31 * 24 * 3600))
        let later = try await test.service.subscriptions.entitlement(of: found.account)
        #expect(!later.hasCurrentSubscription(at: test.clock.now), "nobody came to say that they are still in the group")
    }

    @Test func `of a user whom a group makes staff ends access that others prepared`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider) { $0.roles = ["staff": .support] }
        let account = try #require(try await Self.account(test, try await Self.signIn(test, provider).headers))
        let desk = test.service.desk
        try await desk.setPassword(StaffPage.password, of: account.id, by: .operator)
        let reset = try await desk.makeResetLink(for: account.id, by: .operator)
        let path = "/admin/v1/accounts/\(account.id)/identities"
        let other: JSON = ["issuer": "https://login.example.org", "subject": "mallory"]
        #expect(try await test.send(.post, path, body: other, peer: .local(userID: 0)).status == 201)
        let answer = try await Self.signIn(test, provider, ["groups": "staff"])
        #expect(try await Self.account(test, answer.headers)?.id == account.id, "who has just signed in stays so")
        #expect(try await test.service.staff.role(of: account.id) == .support)
        let left = try await test.call(.get, path, peer: .local(userID: 0)).json["identities"]?.array ?? []
        #expect(left.count == 1 && left.first?["subject"] != "mallory")
        #expect(try await StaffPage(test: test).signedIn(account.name).status == 401)
        #expect(try await test.send(.get, "/reset/\(reset)").status != 200)
        // The identity that the account was created with remains the person's after any promotion.
        try await test.service.staff.setRole(.reader, of: account, by: .operator)
        try await test.service.staff.setRole(.admin, of: account, by: .operator)
        #expect(try await test.call(.get, path, peer: .local(userID: 0)).json["identities"]?.array?.count == 1)
    }

    @Test func `of staff from the administrator's page opens that too, on a confidential connection`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider) { $0.roles = ["staff": .support] }
        let (near, far) = (Peer.network(address: "127.0.0.1", port: 1), Peer.network(address: "192.0.2.1", port: 1))
        func cookie(_ groups: JSON, _ path: String, _ peer: Peer) async throws -> String? {
            let answer = try await Self.signIn(test, provider, ["groups": groups], to: path, peer: peer)
            return answer.headers.values("Set-Cookie").first { $0.hasPrefix("carrel_admin=") }
        }
        #expect(try await cookie(["readers"], "/admin/", near) == nil)
        #expect(try await cookie(["staff"], "/", near) == nil)
        #expect(try await cookie(["staff"], "/admin/", far) == nil, "plain HTTP from another machine")
        let session = try #require(try await cookie(["staff"], "/admin/", near)).prefix { $0 != ";" }
        func status() async throws -> Int {
            try await test.send(.get, "/admin/v1/accounts", headers: ["Cookie": String(session)], peer: near).status
        }
        #expect(try await status() == 200)
        #expect(try await cookie([], "/", far) == nil)
        #expect(try await status() == 401, "who has left the group is out at once after the next sign-in")
    }

    @Test func `refuses endless responses, and untrusted certificates`() async throws {
        let provider = try await HostileProvider()
        provider.change { $0.description["service_documentation"] = .string(String(repeating: "x", count: 256 << 10)) }
        let test = try await Self.service(provider)
        #expect(try await test.send(.get, "/sign-in/oidc").status == 503)
        let (certificates, port) = (provider.certificates, LoopbackPort.free())
        try await certificates.make("root", extensions: TestCertificates.authority)
        let names = "\(TestCertificates.signer)\nsubjectAltName = DNS:localhost"
        try await certificates.make("localhost", by: "root", extensions: names)
        let issuer = "https://localhost:\(port)"
        try await checkProcess(["/bin/mkdir", certificates.directory.file(".well-known")])
        certificates.directory.write(
            ".well-known/openid-configuration",
            """
            {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t","jwks_uri":"\(issuer)/k"}
            """
        )
        let server = try BackgroundProcess(
            [
                try requirePeer("openssl"), "s_server", "-WWW", "-quiet", "-accept", "127.0.0.1:\(port)",
                "-cert", "localhost.pem", "-key", "localhost.key",
            ],
            directory: certificates.directory.path
        )
        try await server.waitForPort(port)
        for (authority, status) in [(nil, 503), ("root", 303)] as [(String?, Int)] {
            let test = try await TestService { settings in
                settings.signOn.provider = try? OpenIDConfiguration(issuer: issuer, clientID: "carrel")
                settings.signOn.certificateAuthorities = authority.map { certificates.directory.file("\($0).pem") }
            }
            let answer = try await test.send(.get, "/sign-in/oidc")
            #expect(answer.status == status, "\(String(decoding: answer.body, as: UTF8.self))")
        }
        await server.terminate()
    }

    @Test func `leaves everything else working while the provider is down`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider)
        let session = try #require(
            try await Self.signIn(test, provider).headers.values("Set-Cookie").first { $0.hasPrefix("carrel_session=") }
        ).prefix { $0 != ";" }
        _ = try await test.service.desk.create("breakglass", password: "a long password", by: AuditActor("operator"))
        provider.change { $0.isDown = true }
        test.clock.advance(by: .seconds(3601))
        let start = try await test.send(.get, "/sign-in/oidc")
        #expect(start.status == 503 && start.headers["Retry-After"] != nil)
        #expect(try await test.send(.get, "/v1/shelf", headers: ["Cookie": String(session)]).status == 200)
        let local = try await test.send(.get, "/sign_in/?username=breakglass&password=a%20long%20password")
        #expect(String(decoding: local.body, as: UTF8.self).contains("<token>"))
        provider.change { $0.isDown = false }
        #expect(try await test.send(.get, "/sign-in/oidc").status == 303)
    }

    @Test func `rejects another issuer's metadata, and follows no redirect`() async throws {
        for (name, value) in [
            ("issuer", "https://login.example.org"), ("token_endpoint", "http://192.0.2.1/token"),
            ("jwks_uri", "file:///etc/passwd"),
            ("code_challenge_methods_supported", ["plain"]), ("id_token_signing_alg_values_supported", ["HS256"]),
        ] as [(String, JSON)] {
            let provider = try await HostileProvider()
            provider.change { $0.description[name] = value }
            let test = try await Self.service(provider)
            #expect(try await test.send(.get, "/sign-in/oidc").status == 403, "\(name)")
        }
        let provider = try await HostileProvider()
        provider.change { $0.status = 302 }
        let test = try await Self.service(provider)
        #expect(try await test.send(.get, "/sign-in/oidc").status != 303)
        #expect(!provider.requests.contains("/elsewhere"))
    }

    @Test func `has a button on the page to sign in at, that leads back to the page that was asked for`() async throws {
        let provider = try await HostileProvider()
        let test = try await Self.service(provider) { $0.label = "Sign in <here> & there" }
        let page = String(decoding: try await test.send(.get, "/").body, as: UTF8.self)
        #expect(page.contains("href=\"/sign-in/oidc?to=%2F\">Sign in &lt;here&gt; &amp; there</a>"))
        let other = String(decoding: try await TestService().send(.get, "/").body, as: UTF8.self)
        #expect(!other.contains("/sign-in/oidc") && !other.contains("<!--"))
    }

    @Test func `is not there where no provider is configured, and answers to GET alone`() async throws {
        let test = try await TestService()
        #expect(try await test.send(.get, "/sign-in/oidc").status != 303)
        let provider = try await HostileProvider()
        #expect(try await Self.service(provider).send(.head, "/sign-in/oidc").status == 405)
    }
}
