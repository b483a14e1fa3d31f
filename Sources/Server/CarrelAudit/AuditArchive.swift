// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
package import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// The audit log in a file: lines of JSON; the first has the number of the row before the archive, the last has the number of its
/// final row.
///
/// A line holds a row as the chain seals it, with the bytes of its page if it refers to one. So the file can be verified by
/// itself, and its end joins it to the log.
package struct AuditArchive: Sendable {
    package static let format = "carrel.audit/1"
    /// Bytes of a line, at most: a page of the log in base 64.
    package static let lineLimit = 16 << 20
    private static let batch = 256

    let database: any Database
    let chain: AuditChain

    // MARK: Writing

    /// Writes the sealed rows that the log has, in their order.
    ///
    /// - Throws: ``ServerError`` `conflict` if a row is not what was sealed; what the database and `write` throw.
    package func write(_ write: (JSON) async throws -> Void) async throws {
        let start = try await database.read { [chain] in try chain.mark(.checkpoint, in: $0) }
        try await write(["format": .string(Self.format), "after": start.map(Self.json) ?? .null])
        var (last, count) = (start, 0)
        while true {
            let after = last
            let rows = try await database.read { [chain] transaction in
                let rows = try AuditStore.sealed(after: after?.number ?? 0, limit: Self.batch, in: transaction)
                var (previous, lines, bytes): (AuditHead.Mark?, [(line: JSON, mark: AuditHead.Mark)], Int) = (after, [], 0)
                for (entry, mark) in rows {
                    let page = entry.action == AuditPage.action ? try AuditStore.page(entry.id, in: transaction) : nil
                    let row = Row(entry: entry, mark: mark, page: page)
                    guard try chain.count(row, after: previous) != nil else {
                        throw ServerError(
                            .conflict,
                            "row \((previous?.number ?? 0) + 1) of the audit log does not match its seal"
                        )
                    }
                    lines.append((row.json, mark))
                    previous = mark
                    bytes += (page?.bytes.count ?? 0) + 512
                    if bytes > 1 << 20 { break }
                }
                return lines
            }
            guard let end = rows.last?.mark else { break }
            for row in rows { try await write(row.line) }
            (last, count) = (end, count + rows.count)
        }
        try await write(["end": last.map(Self.json) ?? .null, "rows": .integer(count)])
    }

    /// Records that everything up to a position in the chain is in a file: only that is ever pruned.
    ///
    /// - Throws: ``ServerError`` `conflict` if the log has no such position.
    package func noteArchived(_ mark: AuditHead.Mark, by actor: AuditActor, at now: Instant) async throws {
        let entry = actor.entry("audit.archive", on: "", at: now, reason: "through \(mark.number)")
        try await database.write { [chain] transaction in
            guard try AuditStore.seal(of: mark.number, in: transaction) == mark.seal else {
                throw ServerError(.conflict, "the log has no row \(mark.number) with the archive's last seal")
            }
            let known = try chain.mark(.archived, in: transaction)
            if known.map({ $0.number < mark.number }) ?? true { try chain.set(.archived, to: mark, in: transaction) }
            try AuditStore.append(entry, in: transaction)
        }
    }

    // MARK: Verifying

    /// The result of verifying part of an archive.
    package enum Verification: Sendable, Equatable {
        /// Each row is what was sealed; `joins` says whether the last is in the log, or where the log begins.
        case intact(end: AuditHead.Mark, entries: Int, joins: Bool)
        case broken(number: Int64)
    }

    /// Verifies lines of an archive that follow one another.
    ///
    /// - Parameters:
    ///   - lines: of rows.
    ///   - start: the row before the first; nil if that is the first of all.
    /// - Returns: whether they are what was sealed.
    /// - Throws: ``ServerError`` `invalid` for lines that are not rows.
    package func verify(_ lines: [JSON], after start: AuditHead.Mark?) async throws -> Verification {
        var (last, entries) = (start, 0)
        for line in lines {
            guard let row = Row(line) else { throw ServerError(.invalid, "a line of the archive is not an audit entry") }
            guard let count = try chain.count(row, after: last) else { return .broken(number: (last?.number ?? 0) + 1) }
            entries += count
            last = row.mark
        }
        guard let end = last else { throw ServerError(.invalid, "there is no row to verify") }
        let joins = try await database.read { [chain] transaction in
            if try AuditStore.seal(of: end.number, in: transaction) == end.seal { return true }
            return try chain.mark(.checkpoint, in: transaction) == end
        }
        return .intact(end: end, entries: entries, joins: joins)
    }

    // MARK: JSON

    package static func json(_ mark: AuditHead.Mark) -> JSON {
        ["number": .integer(mark.number), "seal": .string(Hex.encode(mark.seal))]
    }

    package static func mark(_ json: JSON?) -> AuditHead.Mark? {
        guard let number = json?["number"]?.int.map(Int64.init), let seal = json?["seal"]?.string.flatMap(Hex.decode) else {
            return nil
        }
        return AuditHead.Mark(number: number, seal: seal)
    }

    /// A row of the log with its place in the chain.
    package struct Row {
        let entry: Audit.Entry
        package let mark: AuditHead.Mark
        let page: AuditRow.Page?

        init(entry: Audit.Entry, mark: AuditHead.Mark, page: AuditRow.Page?) {
            (self.entry, self.mark, self.page) = (entry, mark, page)
        }

        package init?(_ json: JSON) {
            guard let mark = AuditArchive.mark(json), let at = json["at"]?.int.map(Int64.init), let id = json["id"]?.string,
                let actor = json["actor"]?.string, let action = json["action"]?.string, let subject = json["subject"]?.string,
                let outcome = json["outcome"]?.string.flatMap(Audit.Entry.Outcome.init(rawValue:)),
                let reason = json["reason"]?.string, let requestID = json["requestId"]?.string
            else { return nil }
            entry = Audit.Entry(
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
}
