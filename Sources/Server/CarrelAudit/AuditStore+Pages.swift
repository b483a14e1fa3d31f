// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelStore
import CarrelWebAPI

/// Queries for entries in pages.
extension AuditStore {
    static let insertPage = SQL("INSERT INTO audit_pages (id, first_at, at, filter, entries) VALUES ($1, $2, $3, $4, $5)")
    static let pages = SQL(
        """
        SELECT id, at, filter FROM audit_pages WHERE at >= $1 AND first_at <= $2 AND (at, id) < ($3, $4)
        ORDER BY at DESC, id DESC LIMIT $5
        """
    )
    static let pagesAfter = SQL("SELECT id, at, filter FROM audit_pages WHERE (at, id) > ($1, $2) ORDER BY at, id LIMIT $3")
    static let page = SQL("SELECT first_at, at, filter, entries FROM audit_pages WHERE id = $1")
    static let strayPage = SQL(
        """
        SELECT id FROM audit_pages WHERE NOT EXISTS
            (SELECT 1 FROM audit WHERE audit.id = audit_pages.id AND audit.action = 'audit.page')
        LIMIT 1
        """
    )

    static let statementsOfPages = [insertPage, pages, pagesAfter, page, strayPage]

    private static let chunk = 64

    private struct Place {
        let id: String
        let at: Instant
        let filter: AuditPageFilter

        init(_ row: Row) throws {
            (id, at, filter) = (try row.text(0), try row.instant(1), AuditPageFilter(bits: try row.blob(2)))
        }

        func entries(in transaction: any Transaction) throws -> [AuditEntry] {
            guard let page = try AuditStore.page(id, in: transaction) else { return [] }
            do throws(Malformed) {
                return try AuditPage.entries(in: page.bytes, of: id)
            } catch {
                throw ServerError(.home, "page \(id) of the audit log cannot be read: \(error)")
            }
        }
    }

    static func insert(_ page: AuditRow.Page, id: String, in transaction: any Transaction) throws {
        let times: [SQLValue] = [.instant(page.first), .instant(page.last)]
        _ = try transaction.run(insertPage, [.text(id)] + times + [.blob(page.filter), .blob(page.bytes)])
    }

    /// The page of an id; nil without such a page.
    static func page(_ id: String, in transaction: any Transaction) throws -> AuditRow.Page? {
        try transaction.row(page, [.text(id)]).map {
            AuditRow.Page(first: try $0.instant(0), last: try $0.instant(1), filter: try $0.blob(2), bytes: try $0.blob(3))
        }
    }

    /// Whether there is a page that no row of the log stands for.
    static func hasStrayPage(in transaction: any Transaction) throws -> Bool { try transaction.row(strayPage, []) != nil }

    /// The newest entries in pages that pass a filter, the newest first and no more than it wants.
    static func entriesInPages(_ filter: AuditFilter, in transaction: any Transaction) throws -> [AuditEntry] {
        let ids = [filter.about, filter.actor, filter.action, filter.outcome?.rawValue].compactMap(\.self)
        let until = filter.until.map { Instant(milliseconds: $0.milliseconds - 1) } ?? .distantFuture
        let window: [SQLValue] = [
            .instant(filter.since ?? Instant(milliseconds: 0)), .instant(min(until, filter.after?.0 ?? .distantFuture)),
        ]
        var (found, mark): ([AuditEntry], (Instant, String)) = ([], (.distantFuture, ""))
        while true {
            let values = window + [.instant(mark.0), .text(mark.1), .integer(Int64(chunk))]
            let places = try transaction.rows(pages, values).map(Place.init)
            for place in places {
                // Those that are left end before it.
                if found.count == filter.limit, let oldest = found.last, oldest.at > place.at { return found }
                guard ids.allSatisfy(place.filter.mayHold) else { continue }
                found += try place.entries(in: transaction).filter(filter.passes)
                found.sort(by: AuditEntry.isListedBefore)
                found.removeLast(max(0, found.count - filter.limit))
            }
            guard places.count == chunk, let last = places.last else { return found }
            mark = (last.at, last.id)
        }
    }

    /// Entries in pages about an id, as subject or as actor, in the order of the pages.
    ///
    /// - Parameters:
    ///   - id: the id of an account or a subject.
    ///   - mark: the last page that was read, by its time and id.
    ///   - transaction: the transaction.
    /// - Returns: the entries of the next few pages, and the last of them; nil at the end.
    /// - Throws: the database's error; ``ServerError`` `home` if a page cannot be read.
    static func entries(
        about id: String,
        inPagesAfter mark: (Instant, String),
        in transaction: any Transaction
    ) throws -> (entries: [AuditEntry], next: (Instant, String)?) {
        let values: [SQLValue] = [.instant(mark.0), .text(mark.1), .integer(Int64(chunk))]
        let places = try transaction.rows(pagesAfter, values).map(Place.init)
        var entries: [AuditEntry] = []
        for place in places where place.filter.mayHold(id) {
            entries += try place.entries(in: transaction).filter { $0.subject == id || $0.actor == id }
        }
        return (entries, places.count == chunk ? places.last.map { ($0.at, $0.id) } : nil)
    }

    /// Before when nothing in the log is about an account: there was none yet, and clocks of nodes differ by less than an hour.
    static func beginning(ofAccountCreated created: Instant?) -> Instant {
        Instant(milliseconds: max(0, (created?.milliseconds ?? 0) - 3_600_000))
    }
}

extension Instant {
    fileprivate static var distantFuture: Instant { Instant(milliseconds: .max) }
}
