// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelCatalog
package import CarrelCrypto
package import CarrelHome
package import CarrelStore
import CarrelThreads
import CarrelWorks

/// Orders: created, listed, ended. Each has its own content key, wrapped at rest.
package final class Orders: Sendable {
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared
    /// Observers called with every order that this process changed, before the change is acknowledged.
    private let observers = Locked<[@Sendable (_ order: String) -> Void]>([])
    private let participants = Locked<[Participant]>([])

    package init(database: any Database, clock: any WallClock, master: MasterKeyring.Shared) {
        self.database = database
        self.clock = clock
        self.master = master
    }

    /// Adds an observer, which is called with the id of every changed order.
    package func onChange(_ observer: @escaping @Sendable (_ order: String) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    private func noteChange(of id: String) {
        for observer in observers.withLock(\.self) { observer(id) }
    }

    /// Acts on the end of an order, in its transaction.
    package typealias Participant = @Sendable (_ order: String, _ byStaff: Bool, _ now: Instant, any Transaction) throws -> Void

    /// Adds a participant, which acts whenever an order is cancelled, returned or revoked.
    package func onEnd(_ participant: @escaping Participant) {
        participants.withLock { $0.append(participant) }
    }

    private func noteEnd(of id: String, byStaff: Bool, at now: Instant, in transaction: any Transaction) throws {
        for participant in participants.withLock(\.self) { try participant(id, byStaff, now, transaction) }
    }

    /// The request for an order.
    package struct Request: Sendable {
        package var account: String
        package var titleID: String?
        package var isbn: String?
        package var kind: Order.Kind
        package var start: Instant?
        package var end: Instant?
        package var number: String?

        package init(
            account: String,
            titleID: String? = nil,
            isbn: String? = nil,
            kind: Order.Kind = .sale,
            start: Instant? = nil,
            end: Instant? = nil,
            number: String? = nil
        ) {
            self.account = account
            self.titleID = titleID
            self.isbn = isbn
            self.kind = kind
            self.start = start
            self.end = end
            self.number = number
        }
    }

    /// Places an order. An order number identifies the order: a repeated request returns the first request's order, whatever has
    /// changed in the catalog since.
    ///
    /// - Returns: the order, and whether this call created it.
    /// - Throws: ``ServerError`` `invalid` (no such title, an end before its start, a loan without end) or `conflict` (the number
    ///   belongs to a different order).
    package func place(_ request: Request, by actor: AuditActor = .operator) async throws -> (order: Order, created: Bool) {
        let accountName = try Account.checkedName(request.account)
        if let start = request.start, let end = request.end, end <= start {
            throw ServerError(.invalid, "an order ends after it starts")
        }
        if request.kind == .loan && request.end == nil { throw ServerError(.invalid, "a loan needs an end") }
        if let number = request.number, number.isEmpty || number.utf8.count > 128 {
            throw ServerError(.invalid, "an order number has 1 to 128 bytes")
        }
        let wanted = try Wanted(request)
        let wrapped = try master.current.wrap(Secret.random(count: 16))
        let (orderID, accountID, now) = (Random.uuid(), Random.uuid(), clock.now)
        return try await database.write { transaction in
            if let number = request.number, let earlier = try OrderStore.order(number: number, in: transaction) {
                let order = earlier.order
                guard
                    // é as one code point and as two are different accounts
                    earlier.account.utf8.elementsEqual(accountName.utf8), wanted.means(order.titleID, isbns: earlier.isbns),
                    order.kind == request.kind, order.startsAt == request.start, order.endsAt == request.end
                else { throw ServerError(.conflict, "order number \(number) belongs to an order that differs from this one") }
                return (order, false)
            }
            let title = try wanted.titleID(in: transaction)
            let account = try Accounts.findOrCreate(Account(id: accountID, name: accountName), at: now, in: transaction)
            let order = Order(
                id: orderID,
                number: request.number,
                accountID: account.id,
                titleID: title,
                kind: request.kind,
                state: .ready,
                startsAt: request.start,
                endsAt: request.end,
                createdAt: now
            )
            guard try OrderStore.insert(order, isbn: wanted.isbn, key: wrapped, in: transaction) else {
                throw ServerError(.conflict, "the order could not be created")
            }
            // The order's id opens it where orders are capabilities: it stays out of the log.
            let entry = actor.entry("order.create", on: account.id, at: now, reason: title)
            try AuditStore.append(entry, in: transaction)
            return (order, true)
        }
    }

    /// The title of an order, as the request names it.
    private enum Wanted {
        case title(String)
        case isbn(ISBN)

        init(_ request: Request) throws {
            switch (request.titleID, request.isbn) {
            case (let id?, nil): self = .title(id)
            case (nil, let text?):
                guard let isbn = ISBN(text) else { throw ServerError(.invalid, "\(text) is not an ISBN") }
                self = .isbn(isbn)
            default: throw ServerError(.invalid, "an order names either a title or an isbn")
            }
        }

        var isbn: ISBN? {
            if case .isbn(let isbn) = self { isbn } else { nil }
        }

        /// Whether this is the title with this id, which has had these ISBNs.
        func means(_ title: String, isbns: [String]) -> Bool {
            switch self {
            case .title(let id): id == title
            case .isbn(let isbn): isbns.contains(isbn.description)
            }
        }

        /// The id of this title in the current catalog.
        func titleID(in transaction: any Transaction) throws -> String {
            switch self {
            case .title(let id):
                guard let kind = try TitleStore.kind(of: id, in: transaction) else {
                    throw ServerError(.invalid, "there is no title \(id)")
                }
                guard kind == .audiobook else {
                    throw ServerError(.invalid, "title \(id) is not an audiobook: give its product with 'carrel plan give'")
                }
                return id
            case .isbn(let isbn):
                let ids = try TitleStore.ids(isbn: isbn, in: transaction)
                guard let id = ids.first else { throw ServerError(.invalid, "there is no audiobook with ISBN \(isbn)") }
                guard ids.count == 1 else {
                    throw ServerError(.invalid, "\(ids.count) titles have ISBN \(isbn): order by title id")
                }
                return id
            }
        }
    }

    package func find(_ id: String) async throws -> Order {
        guard let order = try await database.read({ try OrderStore.order(id: id, in: $0) }) else { throw Self.unknown }
        return order
    }

    /// The orders that pass the filter, oldest first, with the names of their accounts.
    package func list(_ filter: OrderFilter) async throws -> [(order: Order, account: String)] {
        try await database.read { try OrderStore.list(filter, in: $0) }
    }

    /// Cancels an order whose key has not been issued.
    package func cancel(_ id: String, by actor: AuditActor = .operator) async throws -> Order {
        try await end(id, by: actor, as: .cancelled, from: [.ready])
    }

    /// Returns a title before the order's end.
    package func giveBack(_ id: String, by actor: AuditActor = .operator) async throws -> Order {
        try await end(id, by: actor, as: .returned, from: [.ready, .active])
    }

    /// Revokes an order: its key and segments stop immediately.
    package func revoke(_ id: String, by actor: AuditActor = .operator) async throws -> Order {
        try await end(id, by: actor, as: .revoked, from: [.ready, .active, .returned])
    }

    private func end(
        _ id: String,
        by actor: AuditActor,
        as state: Order.State,
        from allowed: Set<Order.State>
    ) async throws -> Order {
        let now = clock.now
        let order = try await database.write { transaction -> Order in
            guard var order = try OrderStore.order(id: id, in: transaction) else { throw Self.unknown }
            if order.state == state { return order }
            guard allowed.contains(order.state) else {
                throw ServerError(.conflict, "an order that is \(order.state.rawValue) cannot become \(state.rawValue)")
            }
            order.state = state
            order.endedAt = order.endedAt ?? now
            try OrderStore.update(order, in: transaction)
            try self.noteEnd(of: id, byStaff: actor.id != order.accountID, at: now, in: transaction)
            let entry = actor.entry("order.\(state.rawValue)", on: order.accountID, at: now, reason: order.titleID)
            try AuditStore.append(entry, in: transaction)
            return order
        }
        noteChange(of: id)
        return order
    }

    /// Records that the order's key is issued for the first time, and returns the current order: it may have been
    /// cancelled meanwhile.
    package func activate(_ id: String) async throws -> Order {
        let now = clock.now
        let order = try await database.write { transaction -> Order in
            try OrderStore.activate(id, at: now, in: transaction)
            guard let order = try OrderStore.order(id: id, in: transaction) else { throw Self.unknown }
            return order
        }
        noteChange(of: id)
        return order
    }

    /// The order with its content key, and whether its account is suspended, for the streaming routes.
    package func grant(_ id: String) async throws -> (order: Order, isSuspended: Bool, key: Secret)? {
        guard let found = try await database.read({ try OrderStore.grant(id: id, in: $0) }) else { return nil }
        return (found.order, found.isSuspended, try master.unwrap(found.key))
    }

    package static let unknown = ServerError(.notFound, "there is no such order")
}

/// Stops the orders of a suspended account, and ends the orders of an erased account.
extension Orders: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        switch change {
        case .suspended, .resumed, .erased: break
        default: return []
        }
        let live = try OrderStore.live(ofAccount: account, at: now, in: transaction)
        if case .erased = change {
            try OrderStore.revokeLive(ofAccount: account, at: now, in: transaction)
            for order in live { try noteEnd(of: order, byStaff: actor.id != account, at: now, in: transaction) }
        }
        return live.map { order in { self.noteChange(of: order) } }
    }
}
