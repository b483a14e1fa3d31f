// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore

/// The SQL of the audit log.
package enum AuditStore {
    static let insert = SQL(
        """
        INSERT INTO audit (id, at, actor, action, subject, outcome, reason, request_id, number, seal)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        """
    )
    static let unsealed = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE number IS NULL ORDER BY at, id LIMIT $1
        """
    )
    static let head = SQL("SELECT number, seal FROM audit WHERE number IS NOT NULL ORDER BY number DESC LIMIT 1")
    static let sealOf = SQL("SELECT seal FROM audit WHERE number = $1")
    static let seal = SQL("UPDATE audit SET number = $2, seal = $3 WHERE id = $1")
    static let sealed = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id, number, seal FROM audit
        WHERE number IS NOT NULL ORDER BY number
        """
    )
    static let list = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE at >= $1 AND at <= $2 AND (at < $3 OR id > $4)
            AND ($5 = '' OR action = $5) AND ($6 = '' OR outcome = $6) AND action <> 'audit.page'
        ORDER BY at DESC, id LIMIT $7
        """
    )
    static let listOfSubject = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE at >= $1 AND at <= $2 AND (at < $3 OR id > $4)
            AND ($5 = '' OR action = $5) AND ($6 = '' OR outcome = $6)
            AND subject = $8 AND action NOT IN ('edition.credentials', 'audit.page')
        ORDER BY at DESC, id LIMIT $7
        """
    )
    /// Credentials are most of the log, and no index knows their products: they are looked for from the newest on.
    static let listOfProduct = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE at >= $1 AND at <= $2 AND (at < $3 OR id > $4)
            AND ($5 = '' OR action = $5) AND ($6 = '' OR outcome = $6)
            AND subject = $8 AND action = 'edition.credentials'
        ORDER BY at DESC, id LIMIT $7
        """
    )
    static let listOfActor = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE at >= $1 AND at <= $2 AND (at < $3 OR id > $4)
            AND ($5 = '' OR action = $5) AND ($6 = '' OR outcome = $6)
            AND actor = $8 AND ($9 = '' OR subject = $9) AND action <> 'audit.page'
        ORDER BY at DESC, id LIMIT $7
        """
    )
    static let isThere = SQL("SELECT 1 FROM audit WHERE id = $1")
    static let newest = SQL("SELECT max(at) FROM audit")
    static let rowsAfter = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id FROM audit
        WHERE at > $1 AND action <> 'audit.page' ORDER BY at, id LIMIT 10000
        """
    )
    static let unsealedCount = SQL("SELECT count(*) FROM audit WHERE number IS NULL")

    package static let statements =
        [
            insert, unsealed, head, sealOf, seal, sealed, list, listOfSubject, listOfProduct, listOfActor, isThere,
            newest, rowsAfter, unsealedCount,
        ] + statementsOfPages + statementsOfMarks + statementsOfPersonalData

    /// The time of the latest entry.
    package static func newest(in transaction: any Transaction) throws -> Instant? {
        try transaction.row(newest, [])?.integerIfPresent(0).map { Instant(milliseconds: $0) }
    }

    /// The entries after a time, the oldest first and 10,000 at most; those in pages are not among them.
    package static func entries(after time: Instant, in transaction: any Transaction) throws -> [AuditEntry] {
        try transaction.rows(rowsAfter, [.instant(time)]).map(entry)
    }

    /// Writes an entry, which is to be sealed yet.
    package static func append(_ entry: AuditEntry, in transaction: any Transaction) throws {
        try append(AuditRow(entry: entry), nil, in: transaction)
    }

    /// Writes a row; a row without a mark is not sealed yet.
    static func append(_ row: AuditRow, _ mark: AuditHead.Mark?, in transaction: any Transaction) throws {
        let entry = row.entry
        let values: [SQLValue] = [
            .text(entry.id), .instant(entry.at), .text(entry.actor), .text(entry.action), .text(entry.subject),
            .text(entry.outcome.rawValue), .text(entry.reason), .text(entry.requestID),
            mark.map { .integer($0.number) } ?? .null, mark.map { .blob($0.seal) } ?? .null,
        ]
        _ = try transaction.run(insert, values)
        if let page = row.page { try insert(page, id: entry.id, in: transaction) }
    }

    /// Whether an entry has been written.
    static func isThere(_ id: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(isThere, [.text(id)]) != nil
    }

    static func unsealed(limit: Int, in transaction: any Transaction) throws -> [AuditEntry] {
        try transaction.rows(unsealed, [.integer(Int64(limit))]).map(entry)
    }

    /// The number and the seal of the last sealed entry.
    static func head(in transaction: any Transaction) throws -> AuditHead.Mark? {
        try transaction.row(head, []).map { AuditHead.Mark(number: try $0.integer(0), seal: try $0.blob(1)) }
    }

    /// The seal of the entry of a number; nil if there is none.
    static func seal(of number: Int64, in transaction: any Transaction) throws -> [UInt8]? {
        try transaction.row(sealOf, [.integer(number)]).map { try $0.blob(0) }
    }

    static func setSeal(_ mark: AuditHead.Mark, of id: String, in transaction: any Transaction) throws {
        _ = try transaction.run(seal, [.text(id), .integer(mark.number), .blob(mark.seal)])
    }

    static func eachSealed(
        in transaction: any Transaction,
        _ body: (AuditEntry, AuditHead.Mark) throws -> Void
    ) throws {
        try transaction.each(sealed, []) { row in
            try body(try entry(row), AuditHead.Mark(number: try row.integer(8), seal: try row.blob(9)))
        }
    }

    /// The entries that pass a filter, newest first. A filter with an id reads only that id's entries.
    static func list(
        _ filter: AuditFilter,
        isProduct: (String, any Transaction) throws -> Bool = { _, _ in false },
        in transaction: any Transaction
    ) throws -> [AuditEntry] {
        var filter = filter
        for name in [\AuditFilter.about, \.action, \.actor] where filter[keyPath: name]?.isEmpty == true {
            filter[keyPath: name] = nil
        }
        let rows = try rows(filter, isProduct: isProduct, in: transaction)
        // What is older than the last of enough rows would not be listed.
        if rows.count == filter.limit, let last = rows.last { filter.since = last.at }
        let others = try entriesInPages(filter, in: transaction)
        if others.isEmpty { return rows }
        let all = (rows + others).sorted(by: AuditEntry.isListedBefore)
        return Array(all.prefix(filter.limit))
    }

    private static func rows(
        _ filter: AuditFilter,
        isProduct: (String, any Transaction) throws -> Bool,
        in transaction: any Transaction
    ) throws -> [AuditEntry] {
        switch (filter.about, filter.actor) {
        case (nil, nil): return try found(list, filter, [], in: transaction)
        case (nil, let actor?): return try found(listOfActor, filter, [.text(actor), .text("")], in: transaction)
        case (let about?, let actor?) where about != actor:
            return try found(listOfActor, filter, [.text(actor), .text(about)], in: transaction)
        case (let about?, let actor):
            let done = try found(listOfActor, filter, [.text(about), .text("")], in: transaction)
            guard actor == nil else { return done }
            let suffered = try found(listOfSubject, filter, [.text(about)], in: transaction).filter { $0.actor != about }
            let issued = try isProduct(about, transaction) ? found(listOfProduct, filter, [.text(about)], in: transaction) : []
            let all = (done + suffered + issued).sorted(by: AuditEntry.isListedBefore)
            return Array(all.prefix(filter.limit))
        }
    }

    private static func found(
        _ statement: SQL,
        _ filter: AuditFilter,
        _ more: [SQLValue],
        in transaction: any Transaction
    ) throws -> [AuditEntry] {
        let last = filter.until.map { Instant(milliseconds: $0.milliseconds - 1) } ?? Instant(milliseconds: Int64.max)
        let after = filter.after?.0 ?? Instant(milliseconds: Int64.max)
        let values: [SQLValue] = [
            .instant(filter.since ?? Instant(milliseconds: 0)), .instant(min(last, after)), .instant(after),
            .text(filter.after?.1 ?? ""), .text(filter.action ?? ""), .text(filter.outcome?.rawValue ?? ""),
            .integer(Int64(filter.limit)),
        ]
        return try transaction.rows(statement, values + more).map(entry)
    }

    /// The last issue of credentials for a product to an account.
    ///
    /// - Parameters:
    ///   - product: the product's id.
    ///   - actor: the account, or the subject upstream.
    ///   - created: when the account was created; nil if the log has to be searched whole.
    ///   - transaction: the transaction.
    /// - Returns: the time and the rule; nil if none was issued.
    /// - Throws: the database's error.
    package static func lastGrant(
        of product: String,
        to actor: String,
        created: Instant?,
        in transaction: any Transaction
    ) throws -> (at: Instant, rule: String)? {
        var filter = AuditFilter()
        (filter.about, filter.actor, filter.action, filter.outcome) = (product, actor, "edition.credentials", .allowed)
        filter.limit = 1
        filter.since = beginning(ofAccountCreated: created)
        return try list(filter, in: transaction).first.map { ($0.at, $0.unfolded.reason) }
    }

    /// Number of unsealed entries.
    static func unsealedCount(in transaction: any Transaction) throws -> Int {
        try transaction.row(unsealedCount, []).map { Int(try $0.integer(0)) } ?? 0
    }

    static func entry(_ row: Row) throws -> AuditEntry {
        guard let outcome = AuditEntry.Outcome(rawValue: try row.text(5)) else {
            throw ServerError(.home, "an audit entry has an outcome that this version does not know")
        }
        return AuditEntry(
            at: try row.instant(1),
            actor: try row.text(2),
            action: try row.text(3),
            subject: try row.text(4),
            outcome: outcome,
            reason: try row.text(6),
            requestID: try row.text(7),
            id: try row.text(0)
        )
    }
}
