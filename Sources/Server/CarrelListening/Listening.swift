// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelOrders
package import CarrelStore

/// Positions of listeners: an append-only log of intervals per order, of which "latest" is a projection.
///
/// The log is a set, and the latest interval is its maximum under an order that does not depend on arrival (effective end, start,
/// end position, and the rest of the key), so reports may come late, twice, split or shuffled and every server reaches the same
/// result. If an interval is reported twice with different details (device, speed, milliseconds), the greater values are kept.
/// Only intervals from a clock ahead of ours are placed by their first arrival, so that they do not pin the position. Latest is
/// not furthest: a listener may go back.
package struct Listening: Sendable {
    let database: any Database
    let clock: any WallClock
    /// Number of intervals kept per order: the newest. 100,000 are 138 hours in pieces of five seconds.
    private let kept: Int
    /// Time after an order's end during which its intervals are accepted.
    private let lateness: Duration

    /// Apps report late: after a journey, or when they are opened again.
    package static let usualLateDays = 90

    package init(
        database: any Database,
        clock: any WallClock,
        kept: Int = 100_000,
        lateDays: Int = Listening.usualLateDays
    ) {
        self.database = database
        self.clock = clock
        self.kept = kept
        lateness = .seconds(lateDays * 86_400)
    }

    /// The outcome of a report.
    package struct Outcome: Sendable, Equatable {
        package var accepted = 0
        package var duplicates = 0
        package var rejected: [Rejection] = []
        /// The orders that took something.
        package var orders: Set<String> = []

        package struct Rejection: Sendable, Equatable {
            package let index: Int
            package let code: ListeningInterval.Refusal
        }
    }

    /// Stores a report: valid elements are stored, invalid ones are reported. One transaction, durable when it returns.
    ///
    /// - Parameters:
    ///   - elements: the report's elements in order: an interval, or the reason why it is invalid.
    ///   - account: the account whose orders it may name, others count as unknown; nil if an order's id is enough.
    /// - Returns: the accepted and the refused elements.
    /// - Throws: if the database refuses the report; then nothing of it is stored.
    package func record(
        _ elements: [Result<ListeningInterval, ListeningInterval.Refusal>],
        of account: String? = nil
    ) async throws -> Outcome {
        let now = clock.now
        let unknown = try await unknownOrders(in: elements, of: account)
        // What would change nothing does not take the writer's time.
        guard
            elements.contains(where: {
                if case .success(let interval) = $0 { !unknown.contains(interval.orderID) } else { false }
            })
        else {
            return Outcome(
                rejected: elements.enumerated().map { index, element in
                    Outcome.Rejection(index: index, code: Self.refusal(of: element))
                }
            )
        }
        return try await database.write { transaction in
            var outcome = Outcome()
            var known: [String: (Order, Int64)?] = [:]
            var fresh: [String: Int] = [:]
            for (index, element) in elements.enumerated() {
                do {
                    var interval = try element.get()
                    try interval.validate()
                    if known[interval.orderID] == nil {
                        known[interval.orderID] = try ListeningStore.order(interval.orderID, in: transaction)
                    }
                    guard case (let order, let duration)?? = known[interval.orderID], account == nil || account == order.accountID
                    else { throw ListeningInterval.Refusal.unknownOrder }
                    try interval.validate(against: order, lateness: lateness, at: now)
                    interval.clamp(to: duration)
                    if try ListeningStore.record(interval, receivedAt: now, in: transaction) {
                        outcome.accepted += 1
                        fresh[order.id, default: 0] += 1
                    } else {
                        outcome.duplicates += 1
                    }
                    outcome.orders.insert(order.id)
                } catch let refusal as ListeningInterval.Refusal {
                    outcome.rejected.append(.init(index: index, code: refusal))
                }
            }
            // Counting takes time proportional to the intervals, so only some reports do it, with a probability that grows with
            // their size.
            for (order, count) in fresh where Int.random(in: 0..<max(1, kept / 100)) < count {
                try ListeningStore.trim(order: order, to: kept, in: transaction)
            }
            return outcome
        }
    }

    /// The orders that a report names and that are not there, or not the account's.
    private func unknownOrders(
        in elements: [Result<ListeningInterval, ListeningInterval.Refusal>],
        of account: String?
    ) async throws -> Set<String> {
        let named = Set(elements.compactMap { try? $0.get().orderID })
        guard !named.isEmpty else { return [] }
        return try await database.read { transaction in
            try named.filter { id in
                guard let (order, _) = try ListeningStore.order(id, in: transaction) else { return true }
                return account != nil && account != order.accountID
            }
        }
    }

    /// The reason for refusing an element of a report with only unknown orders, in the order of the writer's checks.
    private static func refusal(of element: Result<ListeningInterval, ListeningInterval.Refusal>) -> ListeningInterval.Refusal {
        do throws(ListeningInterval.Refusal) {
            try element.get().validate()
            return .unknownOrder
        } catch {
            return error
        }
    }

    /// The position of an order's listener; nil without a report.
    package func latest(_ orderID: String) async throws -> ListeningPosition? {
        try await database.read { transaction in
            guard try OrderStore.order(id: orderID, in: transaction) != nil else { throw Orders.unknown }
            return try ListeningStore.latest(order: orderID, in: transaction)
        }
    }

    /// The position of an account in a title, across its orders: borrowing again keeps the position.
    package func latest(account: String, title: String) async throws -> ListeningPosition? {
        try await database.read { try ListeningStore.latest(account: account, title: title, in: $0) }
    }

    /// A page of the intervals of an order, newest first, and the cursor of the next page; nil after the last.
    func history(
        _ orderID: String,
        after mark: IntervalCursor? = nil,
        limit: Int
    ) async throws -> (intervals: [ListeningInterval], next: IntervalCursor?) {
        try await database.read { transaction in
            guard try OrderStore.order(id: orderID, in: transaction) != nil else { throw Orders.unknown }
            let page = try ListeningStore.history(order: orderID, after: mark, limit: limit, in: transaction)
            return (page.map(\.interval), page.count == limit ? page.last?.mark : nil)
        }
    }
}

/// Deletes the listening history and the bookmarks of an erased person.
extension Listening: AccountParticipant {
    package func take(
        _ change: AccountChange,
        of account: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> [@Sendable () -> Void] {
        if case .erased = change { try ListeningStore.deleteAll(of: account, in: transaction) }
        return []
    }
}
