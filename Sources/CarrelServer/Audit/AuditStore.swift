import CarrelBytes
package import CarrelStore

/// The SQL of the audit log.
package enum AuditStore {
    static let insert = SQL(
        """
        INSERT INTO audit (id, at, actor, action, subject, outcome, reason, request_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """
    )
    static let insertBundle = SQL(
        """
        INSERT INTO audit (id, at, actor, action, subject, outcome, reason, request_id, bundle)
        VALUES ($1, $2, '', $3, '', 'allowed', '', '', $4)
        """
    )
    static let unsealed = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id, bundle FROM audit
        WHERE number IS NULL ORDER BY at, id LIMIT $1
        """
    )
    static let head = SQL("SELECT number, seal FROM audit WHERE number IS NOT NULL ORDER BY number DESC LIMIT 1")
    static let sealOf = SQL("SELECT seal FROM audit WHERE number = $1")
    static let seal = SQL("UPDATE audit SET number = $2, seal = $3 WHERE id = $1")
    static let sealed = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id, bundle, number, seal FROM audit
        WHERE number IS NOT NULL ORDER BY number
        """
    )
    static let list = SQL(
        """
        SELECT audit.id, audit.at, audit.actor, audit.action, audit.subject, audit.outcome, audit.reason, audit.request_id,
            doer.name, object.name
        FROM audit LEFT JOIN accounts doer ON doer.id = audit.actor LEFT JOIN accounts object ON object.id = audit.subject
        WHERE audit.at >= $1 AND audit.at <= $2 AND (audit.at < $3 OR audit.id > $4)
            AND ($5 = '' OR audit.action = $5) AND ($6 = '' OR audit.outcome = $6) AND audit.bundle IS NULL
        ORDER BY audit.at DESC, audit.id LIMIT $7
        """
    )
    static let listOfSubject = SQL(
        """
        SELECT audit.id, audit.at, audit.actor, audit.action, audit.subject, audit.outcome, audit.reason, audit.request_id,
            doer.name, object.name
        FROM audit LEFT JOIN accounts doer ON doer.id = audit.actor LEFT JOIN accounts object ON object.id = audit.subject
        WHERE audit.at >= $1 AND audit.at <= $2 AND (audit.at < $3 OR audit.id > $4)
            AND ($5 = '' OR audit.action = $5) AND ($6 = '' OR audit.outcome = $6)
            AND audit.subject = $8 AND audit.action <> 'edition.credentials'
        ORDER BY audit.at DESC, audit.id LIMIT $7
        """
    )
    /// Credentials of versions without bundles: no index knows their products, so they are looked for from the newest on.
    static let listOfProduct = SQL(
        """
        SELECT audit.id, audit.at, audit.actor, audit.action, audit.subject, audit.outcome, audit.reason, audit.request_id,
            doer.name, object.name
        FROM audit LEFT JOIN accounts doer ON doer.id = audit.actor LEFT JOIN accounts object ON object.id = audit.subject
        WHERE audit.at >= $1 AND audit.at <= $2 AND (audit.at < $3 OR audit.id > $4)
            AND ($5 = '' OR audit.action = $5) AND ($6 = '' OR audit.outcome = $6)
            AND audit.subject = $8 AND audit.action = 'edition.credentials' AND audit.bundle IS NULL
        ORDER BY audit.at DESC, audit.id LIMIT $7
        """
    )
    static let product = SQL("SELECT 1 FROM editions WHERE product_id = $1")
    static let listOfActor = SQL(
        """
        SELECT audit.id, audit.at, audit.actor, audit.action, audit.subject, audit.outcome, audit.reason, audit.request_id,
            doer.name, object.name
        FROM audit LEFT JOIN accounts doer ON doer.id = audit.actor LEFT JOIN accounts object ON object.id = audit.subject
        WHERE audit.at >= $1 AND audit.at <= $2 AND (audit.at < $3 OR audit.id > $4)
            AND ($5 = '' OR audit.action = $5) AND ($6 = '' OR audit.outcome = $6)
            AND audit.actor = $8 AND ($9 = '' OR audit.subject = $9)
        ORDER BY audit.at DESC, audit.id LIMIT $7
        """
    )
    static let bundles = SQL(
        """
        SELECT id, at, bundle FROM audit
        WHERE bundle IS NOT NULL AND at >= $1 AND at <= $2 AND (at < $3 OR id >= $4) ORDER BY at DESC, id LIMIT $5
        """
    )
    static let bundlesFrom = SQL(
        "SELECT id, at, bundle FROM audit WHERE bundle IS NOT NULL AND (at, id) > ($1, $2) ORDER BY at, id LIMIT $3"
    )
    static let unsealedCount = SQL("SELECT count(*) FROM audit WHERE number IS NULL")

    package static let statements = [
        insert, insertBundle, unsealed, head, sealOf, seal, sealed, list, listOfSubject, listOfProduct, product, listOfActor,
        bundles, bundlesFrom, unsealedCount,
    ]

    static func append(_ entry: Audit.Entry, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(entry.id), .instant(entry.at), .text(entry.actor), .text(entry.action), .text(entry.subject),
            .text(entry.outcome.rawValue), .text(entry.reason), .text(entry.requestID),
        ]
        _ = try transaction.run(insert, values)
    }

    static func append(_ bundle: AuditBundle, id: String, in transaction: any Transaction) throws {
        _ = try transaction.run(
            insertBundle,
            [.text(id), .instant(bundle.at), .text(AuditBundle.action), .blob(bundle.bytes)]
        )
    }

    static func unsealed(limit: Int, in transaction: any Transaction) throws -> [Audit.Row] {
        try transaction.rows(unsealed, [.integer(Int64(limit))]).map(row)
    }

    /// The number and the seal of the last sealed entry.
    static func head(in transaction: any Transaction) throws -> (number: Int64, seal: [UInt8])? {
        try transaction.row(head, []).map { (try $0.integer(0), try $0.blob(1)) }
    }

    /// The seal of the entry of a number; nil when there is none.
    static func seal(of number: Int64, in transaction: any Transaction) throws -> [UInt8]? {
        try transaction.row(sealOf, [.integer(number)]).map { try $0.blob(0) }
    }

    static func setSeal(_ seal: [UInt8], number: Int64, of id: String, in transaction: any Transaction) throws {
        _ = try transaction.run(self.seal, [.text(id), .integer(number), .blob(seal)])
    }

    static func eachSealed(
        in transaction: any Transaction,
        _ body: (Audit.Row, Int64, [UInt8]) throws -> Void
    ) throws {
        try transaction.each(sealed, []) { try body(try row($0), try $0.integer(9), try $0.blob(10)) }
    }

    /// The entries that pass a filter, the newest first. Where it names somebody, no other entries are looked at, but for those in
    /// bundles.
    static func list(_ filter: Audit.Filter, in transaction: any Transaction) throws -> [Audit.Found] {
        let alone = try listAlone(filter, in: transaction)
        let bundled = try listBundled(filter, in: transaction)
        guard !bundled.isEmpty else { return Array(alone.prefix(filter.limit)) }
        return Array(merged(alone + bundled).prefix(filter.limit))
    }

    private static func merged(_ found: [Audit.Found]) -> [Audit.Found] {
        found.sorted { ($1.entry.at, $0.entry.id) < ($0.entry.at, $1.entry.id) }
    }

    /// The entries that have rows of their own.
    private static func listAlone(_ filter: Audit.Filter, in transaction: any Transaction) throws -> [Audit.Found] {
        switch (filter.about, filter.actor) {
        case (nil, nil): return try found(list, filter, [], in: transaction)
        case (nil, let actor?): return try found(listOfActor, filter, [.text(actor), .text("")], in: transaction)
        case (let about?, let actor?) where about != actor:
            return try found(listOfActor, filter, [.text(actor), .text(about)], in: transaction)
        case (let about?, let actor):
            let done = try found(listOfActor, filter, [.text(about), .text("")], in: transaction)
            guard actor == nil else { return done }
            let suffered = try found(listOfSubject, filter, [.text(about)], in: transaction).filter { $0.entry.actor != about }
            let isProduct = try transaction.row(product, [.text(about)]) != nil
            let handedOut = isProduct ? try found(listOfProduct, filter, [.text(about)], in: transaction) : []
            return merged(done + suffered + handedOut)
        }
    }

    /// The entries in bundles, which are looked through from the newest on: as far back as is asked for, or else for
    /// ``Audit/Filter/reach``.
    private static func listBundled(_ filter: Audit.Filter, in transaction: any Transaction) throws -> [Audit.Found] {
        guard filter.action == nil || filter.action == AuditBundle.action else { return [] }
        var (filter, entries) = (filter, [Audit.Entry]())
        while entries.count < filter.limit {
            let (since, last, after) = bounds(of: filter)
            let values: [SQLValue] = [
                .instant(since), .instant(last), .instant(after), .text(AuditBundle.row(of: filter.after?.1 ?? "")),
                .integer(Int64(bundlesAtOnce)),
            ]
            let rows = try transaction.rows(bundles, values)
            guard let first = rows.first, let end = rows.last else { break }
            if filter.since == nil { filter.since = try first.instant(1) - Audit.Filter.reach }
            for row in rows {
                entries += try AuditBundle.entries(of: try row.blob(2), id: try row.text(0), at: try row.instant(1))
                    .filter(filter.passes)
            }
            guard rows.count == bundlesAtOnce else { break }
            // behind all entries of the last row
            filter.after = (try end.instant(1), try end.text(0) + "~")
        }
        return try entries.prefix(filter.limit).map { entry in
            Audit.Found(
                entry: entry,
                actorName: try AccountStore.name(ofID: entry.actor, in: transaction),
                subjectName: try AccountStore.name(ofID: entry.subject, in: transaction)
            )
        }
    }

    /// Bundles that are read in one step.
    private static let bundlesAtOnce = 20

    /// The entries of some bundles that somebody has to do with, in the order of time, and the bundle to go on behind; nil at the
    /// end.
    static func bundled(
        of id: String,
        after mark: (Instant, String)?,
        in transaction: any Transaction
    ) throws -> (entries: [Audit.Entry], next: (Instant, String)?) {
        let (at, last) = mark ?? (Instant(milliseconds: .min), "")
        let rows = try transaction.rows(bundlesFrom, [.instant(at), .text(last), .integer(Int64(bundlesAtOnce))])
        let entries = try rows.flatMap { row in
            try AuditBundle.entries(of: try row.blob(2), id: try row.text(0), at: try row.instant(1))
                .filter { $0.actor == id || $0.subject == id }
        }
        guard rows.count == bundlesAtOnce, let end = rows.last else { return (entries, nil) }
        return (entries, (try end.instant(1), try end.text(0)))
    }

    /// The first and the last moment of what a filter asks for, and the moment behind which everything is wanted.
    private static func bounds(of filter: Audit.Filter) -> (since: Instant, last: Instant, after: Instant) {
        let last = filter.until.map { Instant(milliseconds: $0.milliseconds - 1) } ?? Instant(milliseconds: Int64.max)
        let after = filter.after?.0 ?? Instant(milliseconds: Int64.max)
        return (filter.since ?? Instant(milliseconds: 0), min(last, after), after)
    }

    private static func found(
        _ statement: SQL,
        _ filter: Audit.Filter,
        _ more: [SQLValue],
        in transaction: any Transaction
    ) throws -> [Audit.Found] {
        let (since, last, after) = bounds(of: filter)
        let values: [SQLValue] = [
            .instant(since), .instant(last), .instant(after),
            .text(filter.after?.1 ?? ""), .text(filter.action ?? ""), .text(filter.outcome?.rawValue ?? ""),
            .integer(Int64(filter.limit)),
        ]
        return try transaction.rows(statement, values + more).map {
            Audit.Found(entry: try entry($0), actorName: try $0.textIfPresent(8), subjectName: try $0.textIfPresent(9))
        }
    }

    /// When credentials for a product were last handed out to somebody, and by which rule.
    static func lastGrant(
        of product: String,
        to actor: String,
        in transaction: any Transaction
    ) throws -> (at: Instant, rule: String)? {
        var filter = Audit.Filter()
        (filter.about, filter.actor, filter.action, filter.outcome) = (product, actor, "edition.credentials", .allowed)
        filter.limit = 1
        return try list(filter, in: transaction).first.map { ($0.entry.at, $0.entry.reason) }
    }

    /// How many entries wait for their seals.
    static func unsealedCount(in transaction: any Transaction) throws -> Int {
        try transaction.row(unsealedCount, []).map { Int(try $0.integer(0)) } ?? 0
    }

    private static func row(_ row: Row) throws -> Audit.Row {
        Audit.Row(entry: try entry(row), bundle: try row.blobIfPresent(8))
    }

    /// An entry of the columns that every statement here begins with.
    static func entry(_ row: Row) throws -> Audit.Entry {
        guard let outcome = Audit.Entry.Outcome(rawValue: try row.text(5)) else {
            throw ServerError(.home, "an audit entry has an outcome that this version does not know")
        }
        return Audit.Entry(
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
