import CarrelBytes
import CarrelHTTP
import CarrelJSON

/// `/admin/v1/audit`: who did what, and whether the record is as it was written.
struct AuditRoutes {
    let audit: Audit
    let callers: Callers

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/audit") { request, _ in
            try await callers.require(request, .readAudit)
            var filter = Audit.Filter()
            filter.subject = request.query["subject"]
            filter.action = request.query["action"]
            filter.limit = try request.query.integer("limit", in: 1...1000) ?? 100
            if let text = request.query["since"] {
                guard let since = Instant.parse(text) else {
                    throw ServerError(.invalid, "since should be an instant such as 2026-01-31T18:00:00Z")
                }
                filter.since = since
            }
            return .json(["entries": .array(try await audit.list(filter).map(Self.json))])
        }
        router.on(.post, "admin/v1/audit/verify") { request, _ in
            try await callers.require(request, .readAudit)
            try await audit.seal()
            switch try await audit.verify() {
            case .intact(let count): return .json(["intact": true, "entries": .integer(count)])
            case .broken(let number): return .json(["intact": false, "firstBroken": .integer(number)])
            }
        }
    }

    private static func json(_ entry: Audit.Entry) -> JSON {
        [
            "at": .string(entry.at.description), "actor": .string(entry.actor), "action": .string(entry.action),
            "subject": .string(entry.subject), "outcome": .string(entry.outcome.rawValue), "reason": .string(entry.reason),
            "requestId": .string(entry.requestID),
        ]
    }
}
