// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelJSON

/// A row of the log with its place in the chain.
package struct SealedAuditRow {
    let entry: AuditEntry
    package let mark: AuditHead.Mark
    let page: AuditRow.Page?

    init(entry: AuditEntry, mark: AuditHead.Mark, page: AuditRow.Page?) {
        (self.entry, self.mark, self.page) = (entry, mark, page)
    }

    package init?(_ json: JSON) {
        guard let mark = AuditHead.Mark(json), let at = json["at"]?.int.map(Int64.init), let id = json["id"]?.string,
            let actor = json["actor"]?.string, let action = json["action"]?.string, let subject = json["subject"]?.string,
            let outcome = json["outcome"]?.string.flatMap(AuditEntry.Outcome.init(rawValue:)),
            let reason = json["reason"]?.string, let requestID = json["requestId"]?.string
        else { return nil }
        entry = AuditEntry(
            at: Instant(milliseconds: at),
            actor: actor,
            action: action,
            subject: subject,
            outcome: outcome,
            reason: reason,
            requestID: requestID,
            id: id
        )
        self.mark = mark
        guard let page = json["page"] else {
            self.page = nil
            return
        }
        guard let first = page["first"]?.int.map(Int64.init), let last = page["last"]?.int.map(Int64.init),
            let filter = page["filter"]?.string.flatMap({ Base64.decode($0) }),
            let bytes = page["entries"]?.string.flatMap({ Base64.decode($0) })
        else { return nil }
        let (start, end) = (Instant(milliseconds: first), Instant(milliseconds: last))
        self.page = AuditRow.Page(first: start, last: end, filter: filter, bytes: bytes)
    }

    package var json: JSON {
        var object: JSONObject = [
            "number": .integer(mark.number), "seal": .string(Hex.encode(mark.seal)), "id": .string(entry.id),
            "at": .integer(entry.at.milliseconds), "actor": .string(entry.actor), "action": .string(entry.action),
            "subject": .string(entry.subject), "outcome": .string(entry.outcome.rawValue), "reason": .string(entry.reason),
            "requestId": .string(entry.requestID),
        ]
        if let page {
            object["page"] = [
                "first": .integer(page.first.milliseconds), "last": .integer(page.last.milliseconds),
                "filter": .string(Base64.encode(page.filter)), "entries": .string(Base64.encode(page.bytes)),
            ]
        }
        return .object(object)
    }
}

extension AuditHead.Mark {
    /// Reads a mark of an archive; nil without a number and a seal.
    package init?(_ json: JSON?) {
        guard let number = json?["number"]?.int.map(Int64.init), let seal = json?["seal"]?.string.flatMap(Hex.decode) else {
            return nil
        }
        self.init(number: number, seal: seal)
    }

    package var json: JSON { ["number": .integer(number), "seal": .string(Hex.encode(seal))] }
}
