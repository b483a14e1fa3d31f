// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore

/// The SQL of the nodes that run on one database.
package enum NodeStore {
    static let upsert = SQL(
        """
        INSERT INTO nodes (id, name, seen_at, master_versions) VALUES ($1, $2, $3, $4)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, master_versions = excluded.master_versions
        """
    )
    static let seen = SQL("SELECT id, name, seen_at, master_versions FROM nodes WHERE seen_at > $1 ORDER BY name, id")
    static let removeOld = SQL("DELETE FROM nodes WHERE seen_at < $1")
    static let remove = SQL("DELETE FROM nodes WHERE id = $1")

    package static let statements = [upsert, seen, removeOld, remove]

    static func seen(_ node: Node, in transaction: any Transaction) throws {
        let versions = node.masterVersions.map { String($0) }.joined(separator: ",")
        _ = try transaction.run(upsert, [.text(node.id), .text(node.name), .instant(node.seenAt), .text(versions)])
        _ = try transaction.run(removeOld, [.instant(node.seenAt - .seconds(3600))])
    }

    /// The nodes seen lately.
    static func recent(at now: Instant, in transaction: any Transaction) throws -> [Node] {
        try transaction.rows(seen, [.instant(now - Node.recent)]).map {
            Node(
                id: try $0.text(0),
                name: try $0.text(1),
                seenAt: try $0.instant(2),
                masterVersions: try $0.text(3).split(separator: ",").compactMap { Int64($0) }
            )
        }
    }

    /// The names of the nodes seen lately.
    package static func recentNames(at now: Instant, in transaction: any Transaction) throws -> [String] {
        try recent(at: now, in: transaction).map(\.name)
    }

    /// Refuses a master key that a node seen lately lacks.
    static func requireAll(
        toHold version: Int64,
        but node: String?,
        at now: Instant,
        in transaction: any Transaction
    ) throws {
        for other in try recent(at: now, in: transaction) where other.id != node && !other.masterVersions.contains(version) {
            throw ServerError(
                .conflict,
                "the node \(other.name) lacks version \(version) of the master key: copy it there with "
                    + "'carrel keys add --from FILE', then rotate"
            )
        }
    }

    static func remove(_ id: String, in transaction: any Transaction) throws {
        _ = try transaction.run(remove, [.text(id)])
    }
}
