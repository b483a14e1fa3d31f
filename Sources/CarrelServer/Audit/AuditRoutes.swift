import CarrelBytes
import CarrelHTTP
import CarrelJSON

/// `/admin/v1/audit`: who did what, and whether the record is as it was written.
struct AuditRoutes {
    let audit: Audit
    let accounts: Accounts
    let callers: Callers

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/audit") { request, _ in
            try await callers.require(request, .readAudit)
            guard let filter = try await filter(request.query) else { return .json(["entries": []]) }
            let found = try await audit.search(filter)
            var answer: JSONObject = ["entries": .array(found.map(Self.json))]
            if found.count == filter.limit, let last = found.last?.entry {
                answer["next"] = .string(PageMark.text(last.at, last.id))
            }
            return .json(.object(answer))
        }
        router.on(.post, "admin/v1/audit/verify") { request, _ in
            try await callers.require(request, .readAudit)
            do {
                try await audit.seal()
            } catch let error as ServerError where error.code == .conflict {
                // the walk along the chain says where
            }
            switch try await audit.verify() {
            case .intact(let count): return .json(["intact": true, "entries": .integer(count)])
            case .broken(let number): return .json(["intact": false, "firstBroken": .integer(number)])
            }
        }
    }

    /// What is asked for; nil where it is about an account that is not there.
    private func filter(_ query: Query) async throws -> Audit.Filter? {
        var filter = Audit.Filter()
        filter.about = query["subject"]
        if let name = query["account"] {
            guard let account = try await accounts.find(named: name) else { return nil }
            filter.about = account.id
        }
        filter.action = query["action"]
        filter.actor = query["actor"]
        if let text = query["outcome"] {
            guard let outcome = Audit.Entry.Outcome(rawValue: text) else {
                throw ServerError(.invalid, "outcome is \"allowed\", \"refused\" or \"failed\"")
            }
            filter.outcome = outcome
        }
        filter.since = try Self.instant(query, "since")
        filter.until = try Self.instant(query, "until")
        filter.after = try PageMark.parse(query["after"])
        filter.limit = try query.integer("limit", in: 1...1000) ?? 100
        return filter
    }

    private static func instant(_ query: Query, _ name: String) throws -> Instant? {
        guard let text = query[name] else { return nil }
        guard let instant = Instant.parse(text) else {
            throw ServerError(.invalid, "\(name) should be an instant such as 2026-01-31T18:00:00Z")
        }
        return instant
    }

    private static func json(_ found: Audit.Found) -> JSON {
        let entry = found.entry
        return [
            "at": .string(entry.at.description), "actor": .string(entry.actor), "actorName": .init(found.actorName),
            "action": .string(entry.action), "subject": .string(entry.subject), "subjectName": .init(found.subjectName),
            "outcome": .string(entry.outcome.rawValue), "reason": .string(entry.reason), "requestId": .string(entry.requestID),
        ]
    }
}
