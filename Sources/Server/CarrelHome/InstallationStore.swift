// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelStore

/// The SQL of the installation id.
package enum InstallationStore {
    static let select = SQL("SELECT id FROM installation")
    static let insert = SQL(
        "INSERT INTO installation (place, id, created_at) VALUES (1, $1, $2) ON CONFLICT (place) DO NOTHING"
    )

    package static let statements = [select, insert]

    /// The id of the database; nil if it has none yet.
    package static func id(in transaction: any Transaction) throws -> String? {
        try transaction.row(select, []).map { try $0.text(0) }
    }

    /// Gives the database an id if it has none, and returns its id.
    package static func join(_ id: String, at now: Instant, in transaction: any Transaction) throws -> String {
        try transaction.run(insert, [.text(id), .instant(now)])
        return try self.id(in: transaction) ?? id
    }
}
