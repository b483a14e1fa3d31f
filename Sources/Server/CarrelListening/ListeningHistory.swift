// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
package import CarrelJSON
import CarrelOrders
import CarrelStore
import CarrelWebAPI
import CarrelWorks

/// The listening history of an account: each title once, with its last position, most recent first.
package struct ListeningHistory: Sendable {
    let database: any Database
    let clock: any WallClock

    package struct Item: Sendable {
        let title: String
        let authors: [String]
        let durationMS: Int64
        let position: ListeningPosition
        /// The order last used to listen, with its current state; nil if no longer known.
        let order: (kind: Order.Kind, state: String, endsAt: Instant?)?

        package var json: JSON {
            [
                "order": .string(position.orderID), "title": .string(title), "authors": .array(authors.map { .string($0) }),
                "duration": .seconds(milliseconds: durationMS), "seconds": .seconds(milliseconds: position.exactMilliseconds),
                "lastHeard": .string(position.lastUpdated.description), "device": .init(position.deviceName),
                "kind": .init(order?.kind.rawValue), "state": .init(order?.state), "endsAt": .init(order?.endsAt),
            ]
        }
    }

    /// Titles shown at most; the export has all of it.
    private static let limit = 500

    /// Records in the audit log that another person looked at an account's listening history.
    func note(_ account: Account, by actor: AuditActor, at now: Instant) async throws {
        let entry = actor.entry("account.history", on: account.id, at: now)
        try await database.write { try AuditStore.append(entry, in: $0) }
    }

    package func list(of account: Account) async throws -> [Item] {
        let now = clock.now
        return try await database.read { transaction in
            var items: [Item] = []
            for id in try ListeningStore.titles(heardBy: account.id, in: transaction) {
                guard let title = try TitleStore.title(id: id, in: transaction),
                    let position = try ListeningStore.latest(account: account.id, title: id, in: transaction)
                else { continue }
                let metadata = title.metadata
                let order = try OrderStore.order(id: position.orderID, in: transaction)
                items.append(
                    Item(
                        title: metadata.title,
                        authors: metadata.authors,
                        durationMS: title.durationMS,
                        position: position,
                        order: order.map { ($0.kind, $0.publicState(at: now), $0.endsAt) }
                    )
                )
            }
            return Array(items.sorted { $0.position.lastUpdated > $1.position.lastUpdated }.prefix(Self.limit))
        }
    }
}
