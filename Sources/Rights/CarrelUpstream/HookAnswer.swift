// SPDX-License-Identifier: Apache-2.0

import CarrelJSON
import CarrelSubscription

/// The responses of a webhook, read strictly: the format is our own, and anything else grants nothing.
enum HookAnswer {
    private static func malformed(_ what: String) -> UpstreamError {
        UpstreamError(.answer, "the upstream system gave no valid answer: \(what)")
    }

    private static func refusal(_ json: JSON) throws(UpstreamError) -> (status: String?, message: String?)? {
        guard let error = json["error"] else { return nil }
        guard error.object != nil else { throw malformed("'error' is not an object") }
        return (try text(error, "status"), try text(error, "message"))
    }

    /// A member that is text, or is not there.
    private static func text(_ json: JSON, _ name: String) throws(UpstreamError) -> String? {
        guard let member = json[name], !member.isNull else { return nil }
        guard let text = member.string else { throw malformed("'\(name)' is not text") }
        return text
    }

    static func signIn(_ json: JSON) throws(UpstreamError) -> SignInAnswer {
        if let refusal = try refusal(json) { return .refused(status: refusal.status, message: refusal.message) }
        guard let token = try text(json, "token"), !token.isEmpty else { throw malformed("there is no 'token'") }
        return .token(token, globalAuthPassword: try text(json, "global_auth_password"))
    }

    static func permission(_ json: JSON) throws(UpstreamError) -> Permission {
        if let refusal = try refusal(json) { return .refused(status: refusal.status, message: refusal.message) }
        guard json["granted"]?.bool == true else { throw malformed("there is neither 'granted': true nor an 'error'") }
        return .granted
    }

    static func subscription(_ json: JSON) throws(UpstreamError) -> SubscriptionAnswer {
        guard let word = try text(json, "state"), let state = SubscriptionAnswer.State(rawValue: word) else {
            throw malformed("there is no 'state' that is known")
        }
        var answer = SubscriptionAnswer(state, message: try text(json, "message"))
        if let categories = json["categories"], !categories.isNull {
            guard let list = categories.array else { throw malformed("'categories' is not a list") }
            for category in list {
                guard let scheme = try text(category, "scheme"), let term = try text(category, "term") else {
                    throw malformed("a category has no 'scheme' or no 'term'")
                }
                answer.categories.append(.init(scheme: scheme, term: term))
            }
        }
        // Missing: everything. Null would be a list that the sender failed to fill.
        if let issues = json["issues"] {
            guard let list = issues.array else { throw malformed("'issues' is not a list") }
            var ids: [String] = []
            ids.reserveCapacity(list.count)
            for issue in list {
                guard let id = issue.string, !id.isEmpty else { throw malformed("an issue is not the id of a product") }
                ids.append(id)
            }
            answer.issues = ids
        }
        return answer
    }
}
