// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// Personal data of the audit log: their export.
extension AuditStore {
    static let exported = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE (subject = $1 OR actor = $1) AND action <> 'audit.page' AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4
        """
    )
    static let exportedOfThing = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE subject = $1 AND action <> 'edition.credentials' AND actor <> $2 AND (at, id) > ($3, $4) ORDER BY at, id LIMIT $5
        """
    )

    static let statementsOfPersonalData = [exported, exportedOfThing]

    /// Entries with the account as actor or subject: first entries in rows, then entries in pages.
    static func exported(
        of person: PersonalData.Person,
        after: [SQLValue]?,
        in transaction: any Transaction
    ) throws -> PersonalData.Page {
        let account = person.account
        if let after, after.count == 3, case .integer(let at) = after[1], case .text(let id) = after[2] {
            let mark = (Instant(milliseconds: at), id)
            let (entries, next) = try AuditStore.entries(about: account, inPagesAfter: mark, in: transaction)
            return PersonalData.Page(items: entries.map(json), next: next.map { [.null, .instant($0.0), .text($0.1)] })
        }
        let start: [SQLValue] = [.integer(.min), .text("")]
        let page = try PersonalData.Page(exported, [.text(account)] + (after ?? start), in: transaction, exported(_:))
        guard page.next == nil else { return page }
        let beginning = beginning(ofAccountCreated: person.createdAt)
        return PersonalData.Page(items: page.items, next: [.null, .instant(beginning), .text("")])
    }

    /// Entries by others about something that the account owns: a device, an order.
    static func exported(
        ofThing id: String,
        of account: String,
        after: [SQLValue]?,
        in transaction: any Transaction
    ) throws -> PersonalData.Page {
        let values: [SQLValue] = [.text(id), .text(account)] + (after ?? [.integer(.min), .text("")])
        return try PersonalData.Page(exportedOfThing, values, in: transaction, exported(_:))
    }

    private static func exported(_ row: Row) throws -> (JSON, [SQLValue]) {
        let entry = try AuditStore.entry(row)
        return (json(of: entry), [.instant(entry.at), .text(entry.id)])
    }

    private static func json(of entry: AuditEntry) -> JSON {
        [
            "at": .init(entry.at), "actor": .string(entry.actor), "action": .string(entry.action),
            "subject": .string(entry.subject), "outcome": .string(entry.outcome.rawValue),
            "reason": .string(entry.unfolded.reason), "count": .integer(entry.unfolded.count),
            "requestId": .string(entry.requestID),
        ]
    }
}
