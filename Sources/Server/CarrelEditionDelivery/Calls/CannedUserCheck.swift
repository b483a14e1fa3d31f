// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelSubscription
import CarrelWebAPI

/// Sends each of the five calls for a canned user through the server's own routes, and says whether it did what that user is
/// there for.
///
/// Expected results are written here separately from the users themselves: a check that derived them from the users could not
/// fail.
struct CannedUserCheck: Sendable {
    /// The routes of the five calls.
    let router: Router
    /// The first of the products that they know of.
    let product: String
    /// Maximum time of a response; a user that stalls takes a minute.
    var patience = Duration.milliseconds(1500)

    /// The outcome of one call.
    struct Result: Sendable {
        let call: String
        /// Each of them is right: some users answer at random.
        let expected: [String]
        let got: String
        let milliseconds: Int64

        var isGreen: Bool { expected.contains(got) }
    }

    func run(_ user: String) async -> [Result] {
        let expected = Self.expectation(of: user)
        let token = CannedUsers.token(of: user)
        let asked: [(call: String, parameters: [(String, String)], read: @Sendable ([UInt8]) -> String)] = [
            ("sign_in", [("username", user), ("password", user == "peter" ? "pan" : "any")], Self.readSignIn),
            ("renew_token", [("token", token)], { Self.readRenewal($0, token) }),
            ("verify_subscription", [("token", token)], Self.readStatus),
            ("edition_credentials", [("token", token), ("product_id", product)], Self.readCredentials),
            ("sign_out", [("token", token)], { $0 == Array("signed out\n".utf8) ? "done" : "garbage" }),
        ]
        var results: [Result] = []
        for (call, parameters, read) in asked {
            let began = ContinuousClock.now
            let got = await answer(call, parameters, read)
            let spent = (ContinuousClock.now - began).components
            results.append(
                Result(
                    call: call,
                    expected: expected[call] ?? [],
                    got: got,
                    milliseconds: spent.seconds * 1000 + spent.attoseconds / 1_000_000_000_000_000
                )
            )
        }
        return results
    }

    private func answer(
        _ call: String,
        _ parameters: [(String, String)],
        _ read: @escaping @Sendable ([UInt8]) -> String
    ) async -> String {
        let form = parameters.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let request = HTTPRequest(
            .post,
            "/\(call)/",
            headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(form.utf8),
            peer: Self.unusedPeer(),
            id: "canned-user-check"
        )
        let (router, patience) = (router, patience)
        return await withTaskGroup(of: String.self) { group in
            group.addTask {
                let response = await router.respond(to: request)
                guard response.status == .ok else { return "status \(response.status.rawValue)" }
                guard let body = try? await response.body.collect(upTo: 1 << 20) else { return "garbage" }
                return read(body)
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return "no answer"
            }
            let first = await group.next() ?? "no answer"
            group.cancelAll()
            return first
        }
    }

    /// An unused address (RFC 3849): the local accounts are checked for these users too, and many names per minute from one network
    /// are throttled.
    private static func unusedPeer() -> Peer {
        let network = Random.bytes(4).map { String($0, radix: 16) }
        return .network(address: "2001:db8:\(network[0])\(network[1]):\(network[2])\(network[3])::1", port: 0)
    }

    // MARK: What is expected

    /// The words that are right for each call.
    static func expectation(of user: String) -> [String: [String]] {
        let parts = user.split(separator: "-").map(String.init)
        if parts.count == 3 {
            return [
                "sign_in": [fault(parts[0], "token")], "renew_token": ["the same token"],
                "verify_subscription": [fault(parts[1], "active")], "edition_credentials": [fault(parts[2], "granted")],
                "sign_out": ["done"],
            ]
        }
        let (signIn, renewal, status, credentials) = words(for: user)
        return [
            "sign_in": signIn, "renew_token": renewal, "verify_subscription": status, "edition_credentials": credentials,
            "sign_out": ["done"],
        ]
    }

    private static func fault(_ word: String, _ otherwise: String) -> String {
        switch word {
        case "200": otherwise
        case "000": "garbage"
        case "zzz": "no answer"
        default: "status \(word)"
        }
    }

    private static func words(for user: String) -> ([String], [String], [String], [String]) {
        let (token, same, granted, not) = (["token"], ["the same token"], ["granted"], ["notentitled"])
        let either = granted + not
        switch user {
        case "activeall": return (token, same, ["active"], granted)
        case "activenone": return (token, same, ["active, nothing listed"], not)
        case "activesome": return (token, same, ["active, some listed"], granted)
        case "activerandom": return (token, same, ["active, some listed"], either)
        case "activeglobal": return (["token, and a second credential"], same, ["active"], granted)
        case "lapsedall": return (token, same, ["inactive"], not)
        case "lapsednone": return (token, same, ["inactive, nothing listed"], not)
        case "lapsedsome": return (token, same, ["inactive, some listed"], granted)
        case "lapsedrandom": return (token, same, ["inactive, some listed"], either)
        case "lapsedglobal": return (["token, and a second credential"], same, ["inactive"], not)
        case "flipall": return (token, same, ["active", "inactive"], either)
        case "flipnone": return (token, same, ["active, nothing listed", "inactive, nothing listed"], not)
        case "flipsome": return (token, same, ["active, some listed", "inactive, some listed"], granted)
        case "fliprandom": return (token, same, ["active, some listed", "inactive, some listed"], either)
        case "flipglobal": return (["token, and a second credential"], same, ["active", "inactive"], either)
        case "yesbyproxy": return (token, same, ["active"], not)
        case "credserror": return (token, same, ["active"], ["an error without a status"])
        case "expiredtoken": return (token, ["another token"], ["stale"], ["notrecognised"])
        case "alwaysstaletoken": return (token, ["another token"], ["stale"], ["notrecognised"])
        case "blockedtoken": return (token, ["notrecognised"], ["stale"], ["notrecognised"])
        case "suspended": return (token, same, ["suspended"], ["suspended"])
        case "unknown": return (token, same, ["unknown"], ["notrecognised"])
        case "expired": return (token, same, ["inactive"], ["expired"])
        case "longjson", "peter": return (token, same, ["active"], granted)
        default: return (["notrecognised"], ["notrecognised"], ["stale"], ["notrecognised"])
        }
    }

    // MARK: What came

    private static func readSignIn(_ body: [UInt8]) -> String {
        switch try? SignInAnswer.parse(body) {
        case .token(_, nil): "token"
        case .token: "token, and a second credential"
        case .refused(let status, _): status ?? "an error without a status"
        case nil: "garbage"
        }
    }

    private static func readRenewal(_ body: [UInt8], _ before: String) -> String {
        guard case .token(let token, _) = try? SignInAnswer.parse(body) else { return readSignIn(body) }
        return token == before ? "the same token" : "another token"
    }

    private static func readStatus(_ body: [UInt8]) -> String {
        guard let answer = try? SubscriptionAnswer.parse(body) else { return "garbage" }
        guard let issues = answer.issues else { return answer.state.rawValue }
        return "\(answer.state.rawValue), \(issues.isEmpty ? "nothing" : "some") listed"
    }

    private static func readCredentials(_ body: [UInt8]) -> String {
        switch try? CredentialsAnswer.parse(body) {
        case .granted: "granted"
        case .refused(let status, _): status ?? "an error without a status"
        case nil: "garbage"
        }
    }
}
