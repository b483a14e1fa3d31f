// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// `/admin/v1/audit`: the audit log and its verification.
struct AuditRoutes {
    let database: any Database
    let audit: Audit
    let accounts: Accounts
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/audit") { request, _ in
            try await callers.require(request, .readAudit)
            let page = try ListPage(request.query)
            guard let filter = try await filter(request.query, page) else { return .json(["entries": []]) }
            let found = try await audit.list(filter)
            let rows = Array(zip(found, try await named(found)))
            return .json(.object(page.json("entries", rows, \.1) { ($0.0.at, $0.0.id) }))
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
        router.on(.get, "admin/v1/audit/archive") { request, _ in
            _ = try await `operator`(request)
            try await audit.finish()
            let archive = audit.archive
            let body = ResponseBody.stream(length: nil) { writer in
                try await archive.write { try await writer.write($0.write() + [UInt8(ascii: "\n")]) }
            }
            return HTTPResponse(headers: ["Content-Type": "application/x-ndjson", "Cache-Control": "no-store"], body: body)
        }
        router.on(.post, "admin/v1/audit/archived") { request, _ in
            let actor = try await `operator`(request)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["number", "seal"])
            guard let mark = AuditHead.Mark(.object(object)) else {
                throw ServerError(.invalid, "number and seal must be those of an archive's last entry")
            }
            try await audit.archive.noteArchived(mark, by: actor, at: audit.clock.now)
            return .empty(.noContent)
        }
        router.on(.post, "admin/v1/audit/archive/verify") { request, _ in
            _ = try await `operator`(request)
            let bytes = try await request.body.collect(upTo: AuditArchive.lineLimit)
            let limits = JSONLimits(byteCount: AuditArchive.lineLimit)
            let lines = try bytes.split(separator: UInt8(ascii: "\n")).map { line in
                do throws(Malformed) {
                    return try JSON.parse(Array(line).rawSpan, limits: limits)
                } catch {
                    throw ServerError(.invalid, "a line of the archive is not JSON: \(error)")
                }
            }
            let start = AuditHead.Mark(lines.first?["after"])
            switch try await audit.archive.verify(Array(lines.dropFirst()), after: start) {
            case .intact(let end, let entries, let joins):
                return .json(
                    ["intact": true, "end": end.json, "entries": .integer(entries), "joins": .bool(joins)]
                )
            case .broken(let number): return .json(["intact": false, "firstBroken": .integer(number)])
            }
        }
    }

    /// Archives are for the operator alone, who has the files.
    private func `operator`(_ request: HTTPRequest) async throws -> AuditActor {
        let actor = try await callers.require(request, .readAudit)
        guard case .local = request.peer else {
            throw ServerError(.forbidden, "only a command on the server's own home can archive the audit log")
        }
        return actor
    }

    /// The filter of a query; nil if it names an account that does not exist.
    private func filter(_ query: Query, _ page: ListPage) async throws -> AuditFilter? {
        var filter = AuditFilter()
        filter.about = query["subject"]
        if let name = query["account"] {
            guard let account = try await accounts.find(named: name) else { return nil }
            filter.about = account.id
        }
        filter.action = query["action"]
        filter.actor = query["actor"]
        if let text = query["outcome"] {
            guard let outcome = AuditEntry.Outcome(rawValue: text) else {
                throw ServerError(.invalid, "outcome must be \"allowed\", \"refused\" or \"failed\"")
            }
            filter.outcome = outcome
        }
        filter.since = try Self.instant(query, "since")
        filter.until = try Self.instant(query, "until")
        filter.after = page.after
        filter.limit = page.limit
        return filter
    }

    private static func instant(_ query: Query, _ name: String) throws -> Instant? {
        guard let text = query[name] else { return nil }
        guard let instant = Instant.parse(text) else {
            throw ServerError(.invalid, "\(name) must be an instant such as 2026-01-31T18:00:00Z")
        }
        return instant
    }

    /// Entries with the names of the accounts that they speak of.
    private func named(_ entries: [AuditEntry]) async throws -> [JSON] {
        let ids = Set(entries.flatMap { [$0.actor, $0.subject] })
        let names = try await database.read { try AccountStore.names(ofIDs: ids, in: $0) }
        return entries.map { entry in
            [
                "at": .string(entry.at.description), "actor": .string(entry.actor), "actorName": .init(names[entry.actor]),
                "action": .string(entry.action), "subject": .string(entry.subject), "subjectName": .init(names[entry.subject]),
                "outcome": .string(entry.outcome.rawValue), "reason": .string(entry.unfolded.reason),
                "count": .integer(entry.unfolded.count), "requestId": .string(entry.requestID),
            ]
        }
    }
}
