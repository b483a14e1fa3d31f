// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore

/// A position in the chain of the audit log that the database stores under a separate seal: an attacker with access to the
/// database alone can neither move nor forge it.
enum AuditMark: String {
    /// The end of the pruned rows: the chain continues after it.
    case checkpoint
    /// Up to here everything is in a file that `carrel audit archive` wrote.
    case archived

    /// The bytes that the seal covers.
    func sealed(_ mark: AuditHead.Mark) -> [UInt8] {
        Array("carrel audit \(rawValue) \(mark.number) \(Hex.encode(mark.seal))".utf8)
    }
}

/// Pruning and archiving.
extension AuditStore {
    static let markOf = SQL("SELECT number, seal, mac FROM audit_marks WHERE name = $1")
    static let setMark = SQL(
        """
        INSERT INTO audit_marks (name, number, seal, mac) VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO UPDATE SET number = excluded.number, seal = excluded.seal, mac = excluded.mac
        """
    )
    static let sealedAfter = SQL(
        """
        SELECT id, at, actor, action, subject, outcome, reason, request_id, number, seal FROM audit
        WHERE number > $1 ORDER BY number LIMIT $2
        """
    )
    static let prunePages = SQL(
        "DELETE FROM audit_pages WHERE id IN (SELECT id FROM audit WHERE number <= $1 AND action = 'audit.page')"
    )
    static let prune = SQL("DELETE FROM audit WHERE number <= $1")

    static let statementsOfMarks = [markOf, setMark, sealedAfter, prunePages, prune]

    static func mark(_ kind: AuditMark, in transaction: any Transaction) throws -> (mark: AuditHead.Mark, mac: [UInt8])? {
        try transaction.row(markOf, [.text(kind.rawValue)]).map {
            (AuditHead.Mark(number: try $0.integer(0), seal: try $0.blob(1)), try $0.blob(2))
        }
    }

    static func set(_ kind: AuditMark, to mark: AuditHead.Mark, mac: [UInt8], in transaction: any Transaction) throws {
        _ = try transaction.run(setMark, [.text(kind.rawValue), .integer(mark.number), .blob(mark.seal), .blob(mac)])
    }

    /// A batch of sealed rows after a number, without their pages.
    static func sealed(
        after number: Int64,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [(entry: AuditEntry, mark: AuditHead.Mark)] {
        try transaction.rows(sealedAfter, [.integer(number), .integer(Int64(limit))]).map {
            (try entry($0), AuditHead.Mark(number: try $0.integer(8), seal: try $0.blob(9)))
        }
    }

    /// Deletes the sealed rows up to a number, and their pages.
    static func prune(upTo number: Int64, in transaction: any Transaction) throws {
        _ = try transaction.run(prunePages, [.integer(number)])
        _ = try transaction.run(prune, [.integer(number)])
    }
}
