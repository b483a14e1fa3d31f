import CarrelHTTP
import CarrelServer
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream

/// A system upstream that knows a few readers, until a test lets it fail in one way or another.
final class ScriptedUpstream: Sendable {
    enum Fault: String, CaseIterable, Sendable, CustomStringConvertible {
        /// Takes the request and says nothing.
        case timeout
        /// Hangs up in the middle.
        case reset
        case status500 = "500"
        case status403 = "403"
        case redirect
        /// 200 with a page.
        case garbage
        /// 200 with an answer of another call.
        case otherAnswer = "another answer"
        /// 200, a byte now and then.
        case drip
        /// 200, half of the answer, and nothing more.
        case stall
        /// 200 and more bytes than anybody wants.
        case flood

        var description: String { rawValue }

        /// Whether it lasts until the time limit.
        var isSlow: Bool { [.timeout, .drip, .stall].contains(self) }
    }

    /// Asked for by these tokens; `revoked` was once a token.
    static let states: [String: SubscriptionAnswer] = [
        "T-reader": SubscriptionAnswer(.active, message: "Gold", categories: [.init(scheme: "tier", term: "gold")]),
        "T-reader+": SubscriptionAnswer(.active),
        "T-lapsed": SubscriptionAnswer(.inactive, issues: ["p1"]),
    ]

    let port: UInt16
    private let server: LoopbackServer
    private let fault: Locked<Fault?>
    private let suspended: Locked<Set<String>>
    private let revoked: Locked<Set<String>>
    private let asked: Locked<[String]>

    init() {
        let (fault, suspended, revoked) = (Locked<Fault?>(nil), Locked<Set<String>>([]), Locked<Set<String>>([]))
        let asked = Locked<[String]>([])
        (self.fault, self.suspended, self.revoked, self.asked) = (fault, suspended, revoked, asked)
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let call = request.target.split(separator: "/").first.map(String.init) ?? ""
                asked.withLock { $0.append(call) }
                if let fault = fault.withLock({ $0 }) {
                    Self.fail(fault, connection)
                    return
                }
                let query = try? Query(parsing: String(decoding: request.body, as: UTF8.self))
                let answer = Self.answer(
                    call,
                    query ?? Query(),
                    suspended: suspended.withLock { $0 },
                    revoked: revoked.withLock { $0 }
                )
                connection.respond(200, ["Content-Type: text/xml"], body: answer)
            }
        }
        port = server.port
    }

    /// The calls since they were last taken.
    func calls() -> [String] {
        asked.withLock { asked in
            defer { asked = [] }
            return asked
        }
    }

    var connectionCount: Int { server.connectionCount }

    func fail(_ fault: Fault?) { self.fault.withLock { $0 = fault } }
    func suspend(_ token: String) { suspended.withLock { _ = $0.insert(token) } }
    func revoke(_ token: String) { revoked.withLock { _ = $0.insert(token) } }

    var settings: UpstreamSettings {
        UpstreamSettings(name: "bureau", .calls(SubscriptionEndpoints(base: "http://127.0.0.1:\(port)")))
    }

    private static func answer(_ call: String, _ query: Query, suspended: Set<String>, revoked: Set<String>) -> [UInt8] {
        let token = query["token"] ?? ""
        let known = revoked.contains(token) ? nil : states[token]
        switch call {
        case "sign_in":
            let name = query["username"] ?? ""
            guard states["T-\(name)"] != nil, query["password"] == "right" else {
                return SignInAnswer.refused(status: "notrecognised", message: "Not one of ours").write()
            }
            return SignInAnswer.token("T-\(name)").write()
        case "renew_token":
            guard known != nil else { return SignInAnswer.refused(status: "notrecognised", message: nil).write() }
            return SignInAnswer.token("\(token)+").write()
        case "verify_subscription":
            if suspended.contains(token) { return SubscriptionAnswer(.suspended).write() }
            return (known ?? SubscriptionAnswer(.stale)).write()
        case "edition_credentials":
            guard let known else { return CredentialsAnswer.refused(status: "notrecognised", message: nil).write() }
            let product = query["product_id"] ?? ""
            let allows = known.issues?.contains(product) ?? product.hasPrefix("p")
            guard allows, !suspended.contains(token) else {
                return CredentialsAnswer.refused(status: "NOT_ENTITLED", message: "Not yours").write()
            }
            return CredentialsAnswer.granted(userID: "theirs", password: "theirs").write()
        default: return Array("ok".utf8)
        }
    }

    private static func fail(_ fault: Fault, _ connection: LoopbackConnection) {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 1000\r\n\r\n<credentials><userid>U"
        switch fault {
        case .timeout: _ = connection.read()
        case .reset: connection.hangUp()
        case .status500: connection.respond(500, body: CredentialsAnswer.granted(userID: "U", password: "P").write())
        case .status403: connection.respond(403, body: CredentialsAnswer.granted(userID: "U", password: "P").write())
        case .redirect: connection.respond(302, ["Location: http://127.0.0.1:1/edition_credentials/"])
        case .garbage: connection.respond(200, body: Array("<html><body>It works!</body></html>".utf8))
        case .otherAnswer: connection.respond(200, body: Array("<result>granted</result>".utf8))
        case .drip:
            for character in head where connection.write(String(character)) {
                _ = connection.waitToRead(milliseconds: 60)
            }
        case .stall:
            connection.write(head)
            _ = connection.read()
        case .flood:
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
            while connection.write(chunk) {}
        }
    }
}
