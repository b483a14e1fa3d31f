// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelEntitlementSources
import CarrelHTTP
import CarrelJSON
import CarrelServer
package import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream

/// An upstream system that knows a few readers, until a test makes it fail.
package final class ScriptedUpstream: Sendable {
    package enum Fault: String, CaseIterable, Sendable, CustomStringConvertible {
        /// Accepts the request and sends no response.
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
        /// 200 and a grant, a minute later.
        case minute
        /// 200 and an oversized body.
        case flood

        package var description: String { rawValue }

        /// Whether it lasts until the time limit.
        package var isSlow: Bool { [.timeout, .drip, .stall, .minute].contains(self) }
    }

    /// How it is asked.
    package enum Kind: String, CaseIterable, Sendable, CustomStringConvertible {
        case calls = "the five calls"
        case webhook

        package var description: String { rawValue }
    }

    /// The states of these tokens, each of which many readers may have: a suffix after a slash makes a new token.
    package static let states: [String: SubscriptionAnswer] = [
        "T-reader": SubscriptionAnswer(.active, message: "Gold", categories: [.init(scheme: "tier", term: "gold")]),
        "T-reader+": SubscriptionAnswer(.active),
        "T-Zebedee Quux": SubscriptionAnswer(.active, categories: [.init(scheme: "family", term: "Zebedee of Quuxville")]),
        "T-lapsed": SubscriptionAnswer(.inactive, issues: ["p1"]),
        "T-former": SubscriptionAnswer(.inactive),
    ]

    private static func state(of token: String) -> SubscriptionAnswer? {
        states[String(token.prefix { $0 != "/" }) + (token.hasSuffix("+") && token.contains("/") ? "+" : "")]
    }

    /// The name whose sign-ins are told to retry later.
    package static let busy = "busy"

    /// One for tests that only ask.
    package static let shared = ScriptedUpstream()

    package let port: UInt16
    private let kind: Kind
    private let server: LoopbackServer
    private let fault: Locked<Fault?>
    private let suspended: Locked<Set<String>>
    private let revoked: Locked<Set<String>>
    private let asked: Locked<[String]>

    package init(_ kind: Kind = .calls) {
        self.kind = kind
        let (fault, suspended, revoked) = (Locked<Fault?>(nil), Locked<Set<String>>([]), Locked<Set<String>>([]))
        let asked = Locked<[String]>([])
        (self.fault, self.suspended, self.revoked, self.asked) = (fault, suspended, revoked, asked)
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let asking = Self.question(request, kind)
                let call = asking["call"] ?? ""
                asked.withLock { $0.append(call) }
                if let fault = fault.withLock({ $0 }) {
                    Self.fail(fault, kind, connection)
                    return
                }
                let (suspended, revoked) = (suspended.withLock { $0 }, revoked.withLock { $0 })
                switch kind {
                case .calls:
                    let answer = Self.answer(call, asking, suspended: suspended, revoked: revoked)
                    connection.respond(200, ["Content-Type: text/xml"], body: answer)
                case .webhook:
                    let answer = Self.hookAnswer(call, asking, suspended: suspended, revoked: revoked)
                    connection.respond(200, ["Content-Type: application/json"], body: answer.write())
                }
            }
        }
        port = server.port
    }

    /// The calls since they were last taken.
    package func calls() -> [String] {
        asked.withLock { asked in
            defer { asked = [] }
            return asked
        }
    }

    package var connectionCount: Int { server.connectionCount }

    package func fail(_ fault: Fault?) { self.fault.withLock { $0 = fault } }
    package func suspend(_ token: String) { suspended.withLock { _ = $0.insert(token) } }
    package func revoke(_ token: String) { revoked.withLock { _ = $0.insert(token) } }

    package var settings: UpstreamSettings {
        let base = "http://127.0.0.1:\(port)"
        return switch kind {
        case .calls: UpstreamSettings(name: "bureau", .calls(SubscriptionEndpoints(base: base)))
        case .webhook:
            UpstreamSettings(name: "bureau", .webhook(url: base + "/", secret: Secret([UInt8](repeating: 7, count: 32))))
        }
    }

    /// The request: the call and its parameters.
    private static func question(_ request: LoopbackRequest, _ kind: Kind) -> [String: String] {
        var found: [String: String] = [:]
        switch kind {
        case .calls:
            let query = (try? Query(parsing: String(decoding: request.body, as: UTF8.self))) ?? Query()
            for name in ["token", "product_id", "username", "password"] { found[name] = query[name] }
            found["call"] = request.target.split(separator: "/").first.map(String.init)
        case .webhook:
            let body = request.body
            for (name, value) in (try? JSON.parse(body.rawSpan))?.object ?? [:] { found[name] = value.string }
        }
        return found
    }

    private static func hookAnswer(
        _ call: String,
        _ query: [String: String],
        suspended: Set<String>,
        revoked: Set<String>
    ) -> JSON {
        let token = query["token"] ?? ""
        let known = revoked.contains(token) ? nil : state(of: token)
        let notRecognised: JSON = ["error": ["status": "notrecognised", "message": "Not one of ours"]]
        switch call {
        case "sign_in":
            let name = query["username"] ?? ""
            if name == busy { return ["error": ["status": "throttled", "message": "Later"]] }
            return state(of: "T-\(name)") != nil && query["password"] == "right" ? ["token": .string("T-\(name)")] : notRecognised
        case "renew_token": return known == nil ? notRecognised : ["token": .string("\(token)+")]
        case "verify_subscription":
            let answer = suspended.contains(token) ? SubscriptionAnswer(.suspended) : known ?? SubscriptionAnswer(.stale)
            var object: JSONObject = ["state": .string(answer.state.rawValue)]
            if let issues = answer.issues { object["issues"] = .array(issues.map { .string($0) }) }
            return .object(object)
        case "edition_credentials":
            guard let known else { return notRecognised }
            let product = query["product_id"] ?? ""
            let allows = known.issues?.contains(product) ?? product.hasPrefix("p")
            guard allows, !suspended.contains(token) else {
                return ["error": ["status": "notentitled", "message": "Not yours"]]
            }
            return ["granted": true]
        default: return [:]
        }
    }

    private static func answer(_ call: String, _ query: [String: String], suspended: Set<String>, revoked: Set<String>) -> [UInt8]
    {
        let token = query["token"] ?? ""
        let known = revoked.contains(token) ? nil : state(of: token)
        switch call {
        case "sign_in":
            let name = query["username"] ?? ""
            if name == busy { return SignInAnswer.refused(status: "throttled", message: "Later").write() }
            guard state(of: "T-\(name)") != nil, query["password"] == "right" else {
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

    private static func fail(_ fault: Fault, _ kind: Kind, _ connection: LoopbackConnection) {
        let grant =
            switch kind {
            case .calls: CredentialsAnswer.granted(userID: "U", password: "P").write()
            case .webhook: Array("{\"granted\": true, \"state\": \"active\", \"token\": \"T\"}".utf8)
            }
        // More is promised than comes.
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\(String(decoding: grant, as: UTF8.self))"
        switch fault {
        case .timeout: _ = connection.read()
        case .reset: connection.hangUp()
        case .status500: connection.respond(500, body: grant)
        case .status403: connection.respond(403, body: grant)
        case .redirect: connection.respond(302, ["Location: http://127.0.0.1:1/edition_credentials/"])
        case .garbage: connection.respond(200, body: Array("<html><body>It works!</body></html>".utf8))
        case .otherAnswer:
            connection.respond(200, body: Array((kind == .calls ? "<result>granted</result>" : "{\"granted\": \"yes\"}").utf8))
        case .drip:
            for character in head where connection.write(String(character)) {
                _ = connection.waitToRead(milliseconds: 60)
            }
        case .stall:
            connection.write(head)
            _ = connection.read()
        case .minute:
            if !connection.waitToRead(milliseconds: 60_000) { connection.respond(200, body: grant) }
        case .flood:
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
            while connection.write(chunk) {}
        }
    }
}
