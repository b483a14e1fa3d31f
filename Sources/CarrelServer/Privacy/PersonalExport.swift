import CarrelBytes
package import CarrelHTTP
import CarrelJSON
import CarrelStore

/// Everything that is known about one person, as JSON that is written as it is read (GDPR articles 15 and 20).
package struct PersonalExport: Sendable {
    let database: any Database
    let clock: any WallClock
    let upstream: UpstreamSubjects
    let audit: AuditGroup

    /// Names the form of the document.
    static let format = "carrel.person/1"

    /// Notes in the audit log that the account's data are handed out.
    ///
    /// - Parameters:
    ///   - account: whose.
    ///   - actor: to whom.
    /// - Returns: a response with the document, to be kept as a file.
    /// - Throws: ``ServerError`` `notFound` when there is no such account, or it has been erased.
    package func response(of account: Account, by actor: Actor) async throws -> HTTPResponse {
        let entry = actor.entry("account.export", on: account.id, at: clock.now)
        try? await audit.settle()
        let head = try await database.write { transaction -> JSON in
            guard let head = try PersonalDataStore.account(account.id, in: transaction) else { throw AccountDesk.unknown }
            try AuditStore.append(entry, in: transaction)
            return head
        }
        let body = ResponseBody.stream(length: nil) { writer in
            try await Document(database: database, upstream: upstream, account: account, writer: writer).write(head, at: entry.at)
        }
        return HTTPResponse(
            headers: [
                "Content-Type": "application/json", "Cache-Control": "no-store",
                "Content-Disposition": "attachment; filename=\"carrel-export.json\"",
            ],
            body: body
        )
    }

    /// What systems upstream said of somebody, who need have no account here. That it was handed out is in the audit log.
    ///
    /// - Parameters:
    ///   - name: what they sign in with.
    ///   - actor: to whom.
    /// - Returns: an item for each system that said something.
    /// - Throws: when the database does not answer.
    func upstream(named name: String, by actor: Actor) async throws -> [JSON] {
        let now = clock.now
        return try await database.write { [upstream] transaction in
            try upstream.all(named: name, in: transaction).compactMap { subject in
                guard let found = try UpstreamStore.export(of: subject, in: transaction) else { return nil }
                try AuditStore.append(actor.entry("upstream.export", on: subject, at: now), in: transaction)
                return found
            }
        }
    }

    /// The document while it is written.
    private struct Document {
        let database: any Database
        let upstream: UpstreamSubjects
        let account: String
        /// What it signs in with, here and upstream.
        let name: String
        let writer: BodyWriter

        init(database: any Database, upstream: UpstreamSubjects, account: Account, writer: BodyWriter) {
            (self.database, self.upstream, self.writer) = (database, upstream, writer)
            (self.account, name) = (account.id, account.name)
        }

        func write(_ head: JSON, at now: Instant) async throws {
            let start: JSONObject = ["format": .string(format), "exportedAt": .init(now), "account": head]
            try await writer.write(Array(JSON.object(start).write().dropLast()))
            var things: [String] = []
            try await list("devices") {
                try DeviceStore.devices(of: account, in: $0).map(AccountRoutes.json)
            } each: {
                things.append($0)
            }
            try await list("sessions") {
                try PersonalDataStore.sessions(of: account, in: $0)
            } each: {
                things.append($0)
            }
            try await list("identities") {
                try SignOnStore.identities(of: account, in: $0).map(IdentityRoutes.json)
            }
            try await list("appPasswords") {
                try AppPasswordStore.passwords(of: account, in: $0).map { .object(AccountRoutes.json($0)) }
            }
            try await list("subscriptions") {
                try PersonalDataStore.subscriptions(of: account, in: $0)
            } each: {
                things.append($0)
            }
            try await list("purchases") {
                try PersonalDataStore.purchases(of: account, in: $0)
            } each: {
                things.append($0)
            }
            try await list("storePurchases") { try PersonalDataStore.storePurchases(of: account, in: $0) }
            try await list("storeTransactions") { try PersonalDataStore.storeTransactions(of: account, in: $0) }
            try await list("upstream") { [upstream, name] transaction in
                try upstream.all(named: name, in: transaction).compactMap { try UpstreamStore.export(of: $0, in: transaction) }
            } each: {
                things.append($0)
            }
            var orders: [String] = []
            try await pages("orders", [account]) { account, mark, transaction in
                try PersonalDataStore.orders(of: account, after: mark, in: transaction)
            } each: {
                orders.append($0)
            }
            try await pages("listening", orders) { order, mark, transaction in
                try PersonalDataStore.intervals(of: order, after: mark, in: transaction)
            }
            try await pages("bookmarks", [account]) { account, mark, transaction in
                try PersonalDataStore.bookmarks(of: account, after: mark, in: transaction)
            }
            let owner = account
            try await pages("audit", [owner] + things + orders) { thing, mark, transaction in
                thing == owner
                    ? try PersonalDataStore.audit(of: owner, after: mark, in: transaction)
                    : try PersonalDataStore.audit(ofThing: thing, of: owner, after: mark, in: transaction)
            }
            try await writer.write(Array("}\n".utf8))
        }

        /// A member whose items are few.
        private func list(
            _ name: String,
            _ read: @escaping @Sendable (any Transaction) throws -> [JSON],
            each note: (String) -> Void = { _ in }
        ) async throws {
            try await pages(name, [""], { _, _, transaction in (try read(transaction), nil) }, each: note)
        }

        /// A member with the items of each key, read page by page; `note` is told their ids.
        private func pages(
            _ name: String,
            _ keys: [String],
            _ read: @escaping @Sendable (String, [SQLValue]?, any Transaction) throws -> PersonalDataStore.Page,
            each note: (String) -> Void = { _ in }
        ) async throws {
            var text = Array(",\n\"\(name)\":[".utf8)
            var isFirst = true
            for key in keys {
                var mark: [SQLValue]?
                repeat {
                    // A walk along many pages that hold nothing writes nothing, and so does not notice that nobody waits.
                    try Task.checkCancellation()
                    let from = mark
                    let page = try await database.read { try read(key, from, $0) }
                    for item in page.items {
                        text += isFirst ? "\n".utf8 : ",\n".utf8
                        isFirst = false
                        text += item.write()
                        if let id = item["id"]?.string { note(id) }
                    }
                    mark = page.next
                    if text.count > 32_768 {
                        try await writer.write(text)
                        text = []
                    }
                } while mark != nil
            }
            try await writer.write(text + Array("]".utf8))
        }
    }
}
