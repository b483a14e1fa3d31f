// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
import CarrelBytes
package import CarrelHTTP
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// All data about one person, streamed as JSON (GDPR articles 15 and 20).
package struct PersonalExport: Sendable {
    let database: any Database
    let clock: any WallClock
    let register: PersonalRegister
    let audit: AuditBatchWriter
    let lifecycle: AccountLifecycle

    /// Names the form of the document.
    static let format = "carrel.person/1"

    /// Records the export of the account's data in the audit log.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - actor: the recipient, for the audit log.
    /// - Returns: a response with the document as a download.
    /// - Throws: ``ServerError`` `notFound` if the account does not exist or has been erased.
    package func response(of account: Account, by actor: AuditActor) async throws -> HTTPResponse {
        let entry = actor.entry("account.export", on: account.id, at: clock.now)
        try? await audit.settle()
        let (head, persons) = try await database.write { [lifecycle] transaction -> (JSON, [PersonalData.Person]) in
            guard let head = try AccountStore.exported(account.id, in: transaction),
                let details = try AccountStore.details(id: account.id, in: transaction)
            else { throw Account.unknown }
            try AuditStore.append(entry, in: transaction)
            let others = try lifecycle.accounts(besides: account.id, in: transaction).compactMap {
                try AccountStore.details(id: $0, in: transaction)
            }
            let persons = ([details] + others).map {
                PersonalData.Person(account: $0.account.id, name: $0.account.name, createdAt: $0.createdAt)
            }
            return (head, persons)
        }
        let body = ResponseBody.stream(length: nil) { writer in
            try await Document(database: database, persons: persons, writer: writer).write(head, register.members, at: entry.at)
        }
        return HTTPResponse(
            headers: [
                "Content-Type": "application/json", "Cache-Control": "no-store",
                "Content-Disposition": "attachment; filename=\"carrel-export.json\"",
            ],
            body: body
        )
    }

    /// The document while it is written.
    private struct Document {
        let database: any Database
        /// The account, and further ones of the same person.
        let persons: [PersonalData.Person]
        let writer: BodyWriter

        func write(_ head: JSON, _ members: [PersonalData.Member], at now: Instant) async throws {
            let start: JSONObject = ["format": .string(format), "exportedAt": .init(now), "account": head]
            try await writer.write(Array(JSON.object(start).write().dropLast()))
            var ids: [String: [String]] = [:]
            var subjects = persons.map { ($0, $0.account) }
            for member in members {
                let keys =
                    switch member.keys {
                    case .person: persons.map { ($0, $0.account) }
                    case .items(let name): (ids[name] ?? []).map { (persons[0], $0) }
                    case .subjects: subjects
                    }
                let found = try await write(member, keys)
                ids[member.name] = found
                if member.holdsSubjects { subjects += found.map { (persons[0], $0) } }
            }
            try await writer.write(Array("}\n".utf8))
        }

        /// Writes a member with the items of each key, and returns the ids of keys with items.
        private func write(
            _ member: PersonalData.Member,
            _ keys: [(PersonalData.Person, String)]
        ) async throws -> [String] {
            var text = Array(",\n\"\(member.name)\":[".utf8)
            var (ids, isFirst): ([String], Bool) = ([], true)
            for (person, key) in keys {
                var mark: [SQLValue]?
                repeat {
                    // Pages without rows write nothing, so the loop must check itself whether the client is gone.
                    try Task.checkCancellation()
                    let from = mark
                    let page = try await database.read { try member.read(person, key, from, $0) }
                    for item in page.items {
                        text += isFirst ? "\n".utf8 : ",\n".utf8
                        isFirst = false
                        text += item.write()
                        if let id = item["id"]?.string { ids.append(id) }
                    }
                    mark = page.next
                    if text.count > 32_768 {
                        try await writer.write(text)
                        text = []
                    }
                } while mark != nil
            }
            try await writer.write(text + Array("]".utf8))
            return ids
        }
    }
}
