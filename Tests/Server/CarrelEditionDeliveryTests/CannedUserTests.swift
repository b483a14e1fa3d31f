// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelThreads
import Testing

/// The outcome of a call.
private enum Said: Sendable, Equatable, ExpressibleByStringLiteral {
    /// Status 200 with this document; what changes from run to run is a letter in it.
    case xml(String)
    /// One of these, at random.
    case either(String, String)
    /// This status and nothing more.
    case status(Int)
    /// Status 200 with an invalid response.
    case garbage

    init(stringLiteral text: String) { self = .xml(text) }

    func matches(_ reply: SubscriptionReply) -> Bool {
        switch self {
        case .xml(let text): reply.status == 200 && reply.isDocument && reply.xml == text
        case .either(let one, let other): Said.xml(one).matches(reply) || Said.xml(other).matches(reply)
        case .status(let status): reply.status == status && reply.xml == "" && !reply.isDocument
        case .garbage: reply.status == 200 && reply.xml == "<html>{garbage]" && !reply.isDocument
        }
    }
}

/// The outcomes of a user's calls.
private struct Golden: Sendable {
    let user: String
    let signIn: Said
    let verify: Said
    let credentials: Said
    /// The product that is asked for.
    var product = "com.pugpig.edition0001"
    /// Nil: the same token.
    var renew: Said?
    /// How often a minute passes.
    var stalls = 0
}

private func token(_ user: String) -> Said { .xml("<token>\(String(user.reversed()))</token>") }
private let grantedText = "<credentials><userid>U</userid><password>P</password></credentials>"
private let granted = Said.xml(grantedText)
/// The edge's token lasts three seconds.
private let grantedAtEdge: Said =
    "<credentials><userid>U</userid><password>P</password><header name=\"X-Edge-Token\">com.pugpig.edition0001|1800000003</header></credentials>"
private let notEntitledText =
    "<credentials><error status=\"notentitled\" message=\"You are not entitled to this edition\"/></credentials>"
private let notEntitled = Said.xml(notEntitledText)
private let notRecognised: Said =
    "<credentials><error status=\"notrecognised\" message=\"Authentication details not recognised\"/></credentials>"
private let unknown: Said = "<error status=\"notrecognised\" message=\"Credentials not recognised\"/>"

private func subscription(_ state: String, _ message: String, user: String, issues: String = "") -> Said {
    .xml(
        "<subscription state=\"\(state)\" message=\"\(message)\"><userinfo><category scheme=\"name\" term=\"\(user)\"/></userinfo>"
            + issues + "</subscription>"
    )
}

private let universe = (1...100).map { "com.pugpig.edition" + String(String(10_000 + $0).dropFirst()) }
private let everySecond =
    "<issues>" + stride(from: 0, to: 100, by: 2).map { "<issue>\(universe[$0])</issue>" }.joined() + "</issues>"
private let activeWords = "You are an active subscriber"
private let lapsedWords = "Your subscription has lapsed"
/// The test's clock is in an even slot of five minutes, in which flipping users have lapsed for 300 more seconds.
private let flippedWords = "Your subscription has lapsed, for 300 more seconds"

/// Users whose name says what they hold.
private let holders = [
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
            user: "\(prefix)random",
            signIn: token("\(prefix)random"),
            verify: subscription(state, words, user: "\(prefix)random", issues: "<issues>R</issues>"),
            credentials: .either(grantedText, notEntitledText)
        ),
        Golden(
            user: "\(prefix)global",
            signIn: .xml("<token global_auth_password=\"G\">\(String("\(prefix)global".reversed()))</token>"),
            verify: subscription(state, words, user: "\(prefix)global"),
            credentials: isActive ? granted : notEntitled
        ),
    ]
}

/// The token of `longjson`, and as XML has it.
private let longToken =
    "{\n" + (1...40).map { "  \"claim\($0)\": \"a 'value' & more <\($0)>: {[+%]}\"" }.joined(separator: ",\n") + "\n}"
private let longTokenInXML =
    "<token>{\n" + (1...40).map { "  \"claim\($0)\": \"a 'value' &amp; more &lt;\($0)&gt;: {[+%]}\"" }.joined(separator: ",\n")
    + "\n}</token>"

private let stale: Said = "<subscription state=\"stale\" message=\"This token is to be renewed\"/>"
private let neverSignedIn: Said = "<subscription state=\"stale\" message=\"Please sign in again\"/>"

/// Users that show one thing each.
private let oddities = [
    Golden(
        user: "yesbyproxy",
        signIn: token("yesbyproxy"),
        verify: "<subscription state=\"active\" message=\"This says that you are active, but no edition will be granted\"/>",
        credentials: notEntitled
    ),
    Golden(
        user: "longjson",
        signIn: .xml(longTokenInXML),
        verify: "<subscription state=\"active\" message=\"You are longjson\"/>",
        credentials: granted
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
        verify: stale,
        credentials: notRecognised,
        renew: token("activeall")
    ),
    Golden(
        user: "alwaysstaletoken",
        signIn: token("alwaysstaletoken"),
        verify: stale,
        credentials: notRecognised,
        renew: "<token>nekotelatssyawla.1</token>"
    ),
    Golden(
        user: "blockedtoken",
        signIn: token("blockedtoken"),
        verify: stale,
        credentials: notRecognised,
        renew: unknown
    ),
    Golden(
        user: "suspended",
        signIn: token("suspended"),
        verify: "<subscription state=\"suspended\" message=\"Your subscription is suspended\"/>",
        credentials: "<credentials><error status=\"suspended\" message=\"Your account is suspended\"/></credentials>"
    ),
    Golden(
        user: "unknown",
        signIn: token("unknown"),
        verify: "<subscription state=\"unknown\" message=\"Your subscription could not be looked up\"/>",
        credentials: notRecognised
    ),
    Golden(
        user: "expired",
        signIn: token("expired"),
        verify: "<subscription state=\"inactive\" message=\"Your subscription has expired\"/>",
        credentials: "<credentials><error status=\"expired\" message=\"Your subscription has expired\"/></credentials>"
    ),
    Golden(user: "rubbish", signIn: unknown, verify: neverSignedIn, credentials: notRecognised, renew: unknown),
    Golden(user: "nobody-of-that-name", signIn: unknown, verify: neverSignedIn, credentials: notRecognised, renew: unknown),
    Golden(
        user: "peter",
        signIn: token("peter"),
        verify: "<subscription state=\"active\" message=\"You are peter\"/>",
        credentials: granted
    ),
]

/// Users that fail in the calls that their name says: when signing in, verifying, and asking for credentials.
private let failing = [
    ["200", "200", "200"], ["500", "200", "200"], ["200", "500", "200"], ["200", "200", "500"], ["200", "500", "500"],
    ["500", "500", "500"], ["000", "200", "200"], ["200", "000", "200"], ["200", "200", "000"], ["200", "000", "000"],
    ["000", "000", "000"], ["zzz", "200", "200"], ["200", "zzz", "200"], ["200", "200", "zzz"],
].map { parts in
    let user = parts.joined(separator: "-")
    func said(_ part: String, _ otherwise: Said) -> Said {
        part == "500" ? .status(500) : part == "000" ? .garbage : otherwise
    }
    return Golden(
        user: user,
        signIn: said(parts[0], token(user)),
        verify: said(parts[1], "<subscription state=\"active\"/>"),
        credentials: said(parts[2], granted),
        stalls: parts.count { $0 == "zzz" }
    )
}

private let goldens = holders + oddities + failing

struct `The canned users` {
    typealias Way = CallTransport

    private func service(
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) async throws -> TestService {
        try await TestService(with: [.feeds, .administration]) {
            $0.subscription.hasCannedUsers = true
            $0.subscription.sleep = sleep
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
    }

    @Test func `know of the products that the configuration says`() async throws {
        let test = try await TestService(with: [.feeds, .administration]) {
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
            ("activeall", "com.pugpig.edition0100", "granted", "it is active and has every canned product"),
            ("activeall", "x", "notentitled", "canned users open the canned products only"),
            ("ActiveSome", "com.pugpig.edition0001", "granted", "it lists the product"),
            ("activesome", "com.pugpig.edition0002", "notentitled", "it does not list the product"),
            ("activenone", "x", "notentitled", "it does not list the product"),
            ("lapsedall", "x", "notentitled", "it has lapsed and has nothing"),
            ("lapsedsome", "com.pugpig.edition0003", "granted", "it lists the product"),
            ("activerandom", "com.pugpig.edition0001", "asked", "it lists different products on every request"),
            ("flipall", "x", "notentitled", "it has lapsed and has nothing, for 300 more seconds"),
            ("yesbyproxy", "x", "notentitled", "it is verified as active, and granted nothing"),
            ("credserror", "x", "notentitled", "credentials are refused with an error that has no status"),
            ("expiredtoken", "x", "notentitled", "its token is stale, and opens nothing"),
            ("peter", "com.pugpig.edition0001", "granted", "it is granted every canned product"),
            ("peter", "x", "notentitled", "canned users open the canned products only"),
            ("suspended", "com.pugpig.edition0001", "suspended", "it is suspended, and opens nothing"),
            ("unknown", "com.pugpig.edition0001", "notentitled", "its subscription cannot be looked up, and it opens nothing"),
            ("expired", "com.pugpig.edition0001", "expired", "its subscription has expired"),
            ("longjson", "com.pugpig.edition0001", "granted", "it is granted every canned product"),
            ("500-500-200", "com.pugpig.edition0001", "granted", "it is granted every canned product"),
            ("200-200-500", "x", "unavailable", "the call for credentials is answered with status 500"),
            ("200-200-000", "x", "unavailable", "the call for credentials is answered with a body that makes no sense"),
            (
                "200-200-zzz", "com.pugpig.edition0001", "granted",
                "it is granted every canned product, a minute after it was asked for"
            ),
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

    @Test func `are not explained without a sign-in`() async throws {
        let test = try await service()
        for name in ["rubbish", "alice", "1-2-3"] {
            let said = try await test.call(.get, "/admin/v1/explanations?name=\(name)&product=x", peer: .local(userID: 0)).json
            #expect(said["source"]?.isNull == true, "\(name)")
        }
    }

    /// How a reply differs from what is expected; nil if it does not.
    private func difference(_ reply: SubscriptionReply, _ said: Said) -> String? {
        said.matches(reply) ? nil : "\(reply.status) \(reply.xml), not \(said)"
    }

    @Test(arguments: goldens, Way.allCases)
    private func `answer the five calls as listed`(golden: Golden, way: Way) async throws {
        let slept = Locked<[Duration]>([])
        let test = try await service { duration in slept.withLock { $0.append(duration) } }
        let token = golden.user == "longjson" ? longToken : String(golden.user.reversed())
        let signedIn = try await test.ask("sign_in", ["username": golden.user, "password": "pan"], way)
        #expect(difference(signedIn.without("global_auth_password=\"", as: "G"), golden.signIn) == nil)
        let verified = try await test.ask("verify_subscription", ["token": token], way)
        #expect(difference(golden.user.hasSuffix("random") ? verified.withoutRandomIssues() : verified, golden.verify) == nil)
        let asked = try await test.ask("edition_credentials", ["token": token, "product_id": golden.product], way)
        #expect(difference(asked.without("<userid>", as: "U").without("<password>", as: "P"), golden.credentials) == nil)
        let renewed = try await test.ask("renew_token", ["token": token], way)
        let same = golden.user == "longjson" ? Said.xml(longTokenInXML) : .xml("<token>\(token)</token>")
        #expect(difference(renewed, golden.renew ?? same) == nil)
        let signedOut = try await test.ask("sign_out", ["token": token], way)
        #expect(signedOut.status == 200 && signedOut.xml == "signed out\n")
        #expect(slept.withLock { $0 } == [Duration](repeating: .seconds(60), count: golden.stalls))
    }

    @Test func `are all listed above`() {
        #expect(Set(goldens.map(\.user)) == Set(CannedUsers.names + ["nobody-of-that-name"]))
    }

    @Test func `that are random say something else each time`() async throws {
        let test = try await service()
        for user in ["activerandom", "lapsedrandom", "fliprandom"] {
            let token = String(user.reversed())
            let one = try await test.ask("verify_subscription", ["token": token]).xml
            let other = try await test.ask("verify_subscription", ["token": token]).xml
            #expect(one != other)
            var words: Set<Bool> = []
            // Sixty times the same has odds of one to 2^59.
            for _ in 0..<60 {
                let reply = try await test.ask("edition_credentials", ["token": token, "product_id": universe[0]])
                words.insert(reply.xml == notEntitledText)
            }
            #expect(words.count == 2)
        }
    }

    @Test func `ignore the body of a GET`() async throws {
        let test = try await service()
        let asked = ["username": "activeall", "password": "x", "token": "llaevitca", "product_id": "com.pugpig.edition0001"]
        for (call, said) in [
            ("verify_subscription", "<subscription state=\"stale\" message=\"No token!\"/>"), ("renew_token", unknown),
            ("edition_credentials", notRecognised),
        ] {
            #expect(difference(try await test.ask(call, asked, .getForm), said) == nil)
        }
        let signedIn = try await test.ask("sign_in", asked, .getForm)
        #expect(signedIn.status == 400)
        #expect(signedIn.xml == "<error status=\"notrecognised\" message=\"No user name was sent\"/>")
        #expect(try await test.ask("sign_out", asked, .getForm).xml == "signed out\n")
    }

    @Test func `have their password checked where it is said so`() async throws {
        let test = try await service()
        #expect(unknown.matches(try await test.ask("sign_in", ["username": "peter", "password": "PAN"])))
        #expect(token("activeall").matches(try await test.ask("sign_in", ["username": "ActiveAll", "password": ""])))
    }

    @Test func `flip every five minutes`() async throws {
        let test = try await service()
        test.clock.advance(by: .seconds(300))
        let answer = try await test.ask("verify_subscription", ["token": "llapilf"])
        #expect(answer.xml.contains("state=\"active\""))
        #expect(answer.xml.contains("for 300 more seconds"))
    }

    /// Signing in as one takes no password: what readers pay for stays shut to them, also if the environment is live.
    @Test func `open the canned products, and no edition that readers pay for`() async throws {
        let test = try await TestService(with: [.feeds, .administration]) {
            $0.subscription.hasCannedUsers = true
            $0.editions.feedsNeedSignIn = true
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        #expect(test.service.home.environment == .live)
        let files = EditionFiles.folder(test.directory)
        try await test.ingest(files, "com.example.issue-7")
        try await test.ingest(files, "com.pugpig.edition0001")
        var second: String?
        for user in CannedUsers.names {
            let token = user == "longjson" ? longToken : String(user.reversed())
            let real = try await test.ask("edition_credentials", ["token": token, "product_id": "com.example.issue-7"])
            #expect(!real.xml.contains("<userid>"), "\(user)")
            let signedIn = try await test.ask("sign_in", ["username": user, "password": "pan"]).xml
            if user == "activeglobal" { second = signedIn.split(separator: "\"").dropFirst().first.map(String.init) }
        }
        let granted = try await test.ask("edition_credentials", ["token": "llaevitca", "product_id": "com.pugpig.edition0001"])
        #expect(granted.xml.contains("<userid>"))
        let feed: HTTPFields = ["Authorization": basic("labolgevitca", try #require(second))]
        #expect(try await test.send(.get, "/opds/v2", headers: feed).status == 401, "the catalog is private")
        let shelf = try await test.send(.get, "/opds/v2/shelf", headers: feed)
        let text = String(decoding: shelf.body, as: UTF8.self)
        #expect(shelf.status == 200 && text.contains("com.pugpig.edition0001") && !text.contains("com.example.issue-7"))
    }

    @Test func `do not exist unless the configuration says so`() async throws {
        let test = try await TestService(with: [.feeds, .administration]) { $0.passwordCost = .init(memory: 64, passes: 1) }
        #expect(unknown.matches(try await test.ask("sign_in", ["username": "activeall"])))
        let asked = try await test.ask("edition_credentials", ["token": "llaevitca", "product_id": "x"])
        #expect(notRecognised.matches(asked))
    }
}

extension SubscriptionReply {
    /// The document with `R` in place of its issues, if those are some of the canned users' in their order.
    fileprivate func withoutRandomIssues() -> SubscriptionReply {
        guard let start = xml.firstRange(of: "<issues>")?.upperBound, let end = xml.firstRange(of: "</issues>")?.lowerBound,
            start < end
        else { return self }
        let issues = xml[start..<end]
        let some = universe.map { "<issue>\($0)</issue>" }.filter { issues.firstRange(of: $0) != nil }
        guard issues == some.joined()[...] else { return self }
        var copy = self
        copy.xml = xml[..<start] + "R" + xml[end...]
        return copy
    }
}
