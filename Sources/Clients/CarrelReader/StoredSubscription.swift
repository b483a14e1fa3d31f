// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelSubscription

/// The stored data of an app's subscription. It holds a token and does not print it.
struct StoredSubscription: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    var token: String?
    var globalAuthPassword: String?
    var state: SubscriptionState?

    private static let limits = JSONLimits(depth: 8, byteCount: 16 << 20)

    init() {}

    /// - Throws: for bytes that ``written`` did not make.
    init(reading bytes: [UInt8]) throws(Malformed) {
        let json = try JSON.parse(bytes.rawSpan, limits: Self.limits)
        guard json["version"]?.int == 1 else { throw Malformed("the stored subscription has another version", at: 0) }
        token = json["token"]?.string
        globalAuthPassword = json["globalAuthPassword"]?.string
        guard let answer = json["answer"]?.string else { return }
        guard let time = json["verifiedAt"]?.int else { throw Malformed("the stored subscription has no time", at: 0) }
        let bytes = Array(answer.utf8)
        state = SubscriptionState(try SubscriptionAnswer.parse(bytes), verifiedAt: Instant(milliseconds: Int64(time)))
    }

    var written: [UInt8] {
        var members: [(String, JSON)] = [("version", 1)]
        if let token { members.append(("token", .string(token))) }
        if let globalAuthPassword { members.append(("globalAuthPassword", .string(globalAuthPassword))) }
        if let state {
            members.append(("answer", .string(String(decoding: state.answer.write(), as: UTF8.self))))
            members.append(("verifiedAt", .integer(state.verifiedAt.milliseconds)))
        }
        return JSON.object(JSONObject(members)).write()
    }

    var description: String { token == nil ? "no subscription" : "a subscription" }
    var debugDescription: String { description }
}
