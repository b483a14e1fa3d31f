import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelServer
import Testing

/// What a call came to, without what changes from run to run.
private struct Golden: Sendable {
    let user: String
    let signIn: String
    let verify: String
    let credentials: String
    /// The product that is asked for.
    var product = "com.pugpig.edition0001"
    var renew: String?
}

private let prolog = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
private func token(_ user: String) -> String { "<token>\(String(user.reversed()))</token>" }
private let granted = "<credentials><userid>U</userid><password>P</password></credentials>"
/// The edge's token lasts three seconds.
private let grantedAtEdge =
    "<credentials><userid>U</userid><password>P</password><header name=\"X-Edge-Token\">com.pugpig.edition0001|1800000003</header>"
    + "</credentials>"
private let notEntitled =
    "<credentials><error status=\"notentitled\" message=\"You are not entitled to this edition\"/></credentials>"
private let notRecognised =
    "<credentials><error status=\"notrecognised\" message=\"Authentication details not recognised\"/></credentials>"
private let unknown = "<error status=\"notrecognised\" message=\"Credentials not recognised\"/>"

private func subscription(_ state: String, _ message: String, user: String, issues: String = "") -> String {
    "<subscription state=\"\(state)\" message=\"\(message)\"><userinfo><category scheme=\"name\" term=\"\(user)\"/></userinfo>"
        + issues + "</subscription>"
}

private let everySecond =
    "<issues>" + stride(from: 1, to: 100, by: 2).map { "<issue>com.pugpig.edition00\($0 < 10 ? "0" : "")\($0)</issue>" }.joined()
    + "</issues>"
private let activeWords = "You are an active subscriber"
private let lapsedWords = "Your subscription has lapsed"
/// The test's clock stands in an even slot of five minutes, where those who flip have lapsed for 300 more seconds.
private let flippedWords = "Your subscription has lapsed, for 300 more seconds"

private let goldens: [Golden] =
    [
        ("active", "active", activeWords, true), ("lapsed", "inactive", lapsedWords, false),
        ("flip", "inactive", flippedWords, false),
    ].flatMap { (prefix, state, words, isActive) in
        [
            Golden(
                user: "\(prefix)all",
                signIn: token("\(prefix)all"),
                verify: subscription(state, words, user: "\(prefix)all"),
                credentials: isActive ? granted : notEntitled
            ),
            Golden(
                user: "\(prefix)none",
                signIn: token("\(prefix)none"),
                verify: subscription(state, words, user: "\(prefix)none", issues: "<issues/>"),
                credentials: notEntitled
            ),
            Golden(
                user: "\(prefix)some",
                signIn: token("\(prefix)some"),
                verify: subscription(state, words, user: "\(prefix)some", issues: everySecond),
                credentials: prefix == "active" ? grantedAtEdge : granted
            ),
            Golden(
                user: "\(prefix)some",
                signIn: token("\(prefix)some"),
                verify: subscription(state, words, user: "\(prefix)some", issues: everySecond),
                credentials: notEntitled,
                product: "com.pugpig.edition0002"
            ),
            Golden(
                user: "\(prefix)global",
                signIn: "<token global_auth_password=\"G\">\(String("\(prefix)global".reversed()))</token>",
                verify: subscription(state, words, user: "\(prefix)global"),
                credentials: isActive ? granted : notEntitled
            ),
        ]
    } + [
        Golden(
            user: "yesbyproxy",
            signIn: token("yesbyproxy"),
            verify:
                "<subscription state=\"active\" message=\"This says that you are active, but no edition will be granted\"/>",
            credentials: notEntitled
        ),
        Golden(
            user: "credserror",
            signIn: token("credserror"),
            verify: "<subscription state=\"active\" message=\"You are credserror\"/>",
            credentials: "<credentials><error message=\"An error without a status\"/></credentials>"
        ),
        Golden(
            user: "expiredtoken",
            signIn: token("expiredtoken"),
            verify: "<subscription state=\"stale\" message=\"This token is to be renewed\"/>",
            credentials: notRecognised,
            renew: token("activeall")
        ),
        Golden(
            user: "alwaysstaletoken",
            signIn: token("alwaysstaletoken"),
            verify: "<subscription state=\"stale\" message=\"This token is to be renewed\"/>",
            credentials: notRecognised,
            renew: "<token>nekotelatssyawla.1</token>"
        ),
        Golden(
            user: "blockedtoken",
            signIn: token("blockedtoken"),
            verify: "<subscription state=\"stale\" message=\"This token is to be renewed\"/>",
            credentials: notRecognised,
            renew: unknown
        ),
        Golden(
            user: "rubbish",
            signIn: unknown,
            verify: "<subscription state=\"stale\" message=\"Please sign in again\"/>",
            credentials: notRecognised,
            renew: unknown
        ),
        Golden(
            user: "nobody-of-that-name",
            signIn: unknown,
            verify: "<subscription state=\"stale\" message=\"Please sign in again\"/>",
            credentials: notRecognised,
            renew: unknown
        ),
        Golden(
            user: "peter",
            signIn: token("peter"),
            verify: "<subscription state=\"active\" message=\"You are peter\"/>",
            credentials: granted
        ),
    ]

struct `The canned users` {
    /// How a call's parameters travel.
    enum Way: CaseIterable, Sendable { case query, postQuery, form }

    private func service() async throws -> TestService {
        try await TestService {
            $0.subscription.hasCannedUsers = true
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
    }

    @Test func `know of the products that the configuration says`() async throws {
        let test = try await TestService {
            $0.subscription.hasCannedUsers = true
            $0.subscription.cannedIssues = .init(prefix: "org.example.daily-", numbers: 7...10)
        }
        let verified = try await test.ask("verify_subscription", ["token": "emosevitca"]).xml
        #expect(
            verified.contains("<issue>org.example.daily-0007</issue>")
                && verified.contains("<issue>org.example.daily-0009</issue>")
        )
        #expect(!verified.contains("0008") && !verified.contains("com.pugpig"))
        for user in ["activesome", "lapsedsome", "activenone"] {
            let answer = try await test.call(.post, "/admin/v1/canned-users/\(user)/check", peer: .local(userID: 0)).json
            #expect(answer["green"] == true, "\(user) \(answer)")
        }
    }

    @Test(
        arguments: [
            ("activeall", "x", "granted", "it is active and has everything"),
            ("ActiveSome", "com.pugpig.edition0001", "granted", "it lists the product"),
            ("activesome", "com.pugpig.edition0002", "notentitled", "it does not list the product"),
            ("activenone", "x", "notentitled", "it does not list the product"),
            ("lapsedall", "x", "notentitled", "it has lapsed and has nothing"),
            ("lapsedsome", "com.pugpig.edition0003", "granted", "it lists the product"),
            ("activerandom", "com.pugpig.edition0001", "asked", "each time it is asked, it lists others"),
            ("flipall", "x", "notentitled", "it has lapsed and has nothing, for 300 more seconds"),
            ("yesbyproxy", "x", "notentitled", "it is verified as active, and granted nothing"),
            ("credserror", "x", "notentitled", "credentials are refused with an error that has no status"),
            ("expiredtoken", "x", "notentitled", "its token is stale, and opens nothing"),
            ("peter", "x", "granted", "it is granted everything"),
            ("longjson", "x", "granted", "it is granted everything"),
            ("500-500-200", "x", "granted", "it is granted everything"),
            ("200-200-500", "x", "unavailable", "the call for credentials is answered with status 500"),
            ("200-200-000", "x", "unavailable", "the call for credentials is answered with a body that makes no sense"),
            ("200-200-zzz", "x", "granted", "it is granted everything, a minute after it was asked for"),
        ]
    )
    func `are explained, without a wait`(user: String, product: String, verdict: String, reason: String) async throws {
        let test = try await service()
        let path = "/admin/v1/explanations?name=\(user)&product=\(product)"
        let said = try await test.call(.get, path, peer: .local(userID: 0)).json
        #expect(said["source"] == "canned" && said["verdict"]?.string == verdict)
        #expect(said["findings"]?.array?.map { $0["reason"]?.string } == [reason])
        #expect(said["findings"]?.array?.first?["rule"]?.string == "canned \(user.lowercased())")
        #expect(said["rule"]?.string == (verdict == "granted" ? "canned \(user.lowercased())" : nil))
    }

    @Test func `that nobody signs in as are not explained`() async throws {
        let test = try await service()
        for name in ["rubbish", "alice", "1-2-3"] {
            let said = try await test.call(.get, "/admin/v1/explanations?name=\(name)&product=x", peer: .local(userID: 0)).json
            #expect(said["source"]?.isNull == true, "\(name)")
        }
    }

    @Test(arguments: goldens, Way.allCases)
    private func `answer the five calls as listed`(golden: Golden, way: Way) async throws {
        let test = try await service()
        let token = String(golden.user.reversed())
        let signedIn = try await test.ask("sign_in", ["username": golden.user, "password": "pan"], way)
        #expect(signedIn.without("global_auth_password=\"", as: "G") == golden.signIn)
        #expect(try await test.ask("verify_subscription", ["token": token], way).xml == golden.verify)
        let asked = try await test.ask("edition_credentials", ["token": token, "product_id": golden.product], way)
        #expect(asked.without("<userid>", as: "U").without("<password>", as: "P").xml == golden.credentials)
        let renewed = try await test.ask("renew_token", ["token": token], way)
        #expect(renewed.xml == golden.renew ?? "<token>\(token)</token>")
        #expect(try await test.ask("sign_out", ["token": token], way).status == 200)
    }

    @Test func `have their password checked where it is said so`() async throws {
        let test = try await service()
        #expect(try await test.ask("sign_in", ["username": "peter", "password": "PAN"]).xml == unknown)
        #expect(try await test.ask("sign_in", ["username": "ActiveAll", "password": ""]).xml == token("activeall"))
    }

    @Test func `flip every five minutes`() async throws {
        let test = try await service()
        test.clock.advance(by: .seconds(300))
        let answer = try await test.ask("verify_subscription", ["token": "llapilf"])
        #expect(answer.xml.contains("state=\"active\""))
        #expect(answer.xml.contains("for 300 more seconds"))
    }

    @Test func `have a token that needs every escape`() async throws {
        let test = try await service()
        let token = CannedUsers.token(of: "longjson")
        #expect(token.utf8.count > 1500)
        for way in Way.allCases {
            #expect(try await test.ask("verify_subscription", ["token": token], way).xml.contains("You are longjson"))
        }
    }

    @Test(arguments: [("500-200-200", 500, 200, 200), ("200-500-200", 200, 500, 200), ("200-200-500", 200, 200, 500)])
    func `fail where their name says`(user: String, signIn: Int, verify: Int, credentials: Int) async throws {
        let test = try await service()
        let token = String(user.reversed())
        #expect(try await test.ask("sign_in", ["username": user]).status == signIn)
        #expect(try await test.ask("verify_subscription", ["token": token]).status == verify)
        #expect(try await test.ask("edition_credentials", ["token": token, "product_id": "x"]).status == credentials)
    }

    @Test func `send garbage where their name says`() async throws {
        let test = try await service()
        let answer = try await test.ask("sign_in", ["username": "000-200-200"])
        #expect(answer.status == 200)
        #expect(!answer.xml.contains("token"))
    }

    @Test func `do not exist unless the configuration says so`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        #expect(try await test.ask("sign_in", ["username": "activeall"]).xml == unknown)
        let asked = try await test.ask("edition_credentials", ["token": "llaevitca", "product_id": "x"])
        #expect(asked.xml == notRecognised)
    }
}

/// An answer of one of the five calls.
struct SubscriptionReply {
    let status: Int
    let headers: HTTPFields
    /// The document without its prolog, or the body where it has none.
    var xml: String

    /// The document with the text behind the mark replaced.
    func without(_ mark: String, as name: String) -> SubscriptionReply {
        guard let start = xml.firstRange(of: mark)?.upperBound,
            let end = xml[start...].firstIndex(where: { $0 == "<" || $0 == "\"" })
        else { return self }
        var copy = self
        copy.xml = xml[..<start] + name + xml[end...]
        return copy
    }

    static func == (reply: SubscriptionReply, xml: String) -> Bool { reply.xml == xml }
}

extension TestService {
    /// Makes one of the five calls, in process.
    func ask(
        _ call: String,
        _ parameters: [String: String],
        _ way: `The canned users`.Way = .form,
        from address: String = "192.0.2.1",
        at other: CarrelService? = nil
    ) async throws -> SubscriptionReply {
        let text = parameters.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }.joined(separator: "&")
        var headers: HTTPFields = [:]
        if way == .form { headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8" }
        let request = HTTPRequest(
            way == .query ? .get : .post,
            way == .form ? "/\(call)/" : "/\(call)?\(text)",
            headers: headers,
            body: way == .form ? Array(text.utf8) : [],
            peer: .network(address: address, port: 1)
        )
        let response = await (other ?? service).router.respond(to: request)
        let body = String(decoding: try await response.body.collect(upTo: 16 << 20), as: UTF8.self)
        #expect(response.headers["Cache-Control"] == "no-store, no-cache, must-revalidate, private")
        #expect(response.headers["Pragma"] == "no-cache")
        return SubscriptionReply(
            status: response.status.rawValue,
            headers: response.headers,
            xml: body.hasPrefix(prolog) ? String(body.dropFirst(prolog.count).dropLast()) : body
        )
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte >= 0x61 && byte <= 0x7a || byte >= 0x30 && byte <= 0x39
            return isPlain ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte])
        }.joined()
    }
}
