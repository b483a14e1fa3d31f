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

    /// Writes the sealed rows of the log in order.
    ///
    /// - Throws: ``ServerError`` `conflict` if a row does not match its seal; errors of the database and `write`.
    package func write(_ write: (JSON) async throws -> Void) async throws {
        let start = try await database.read { [chain] in try chain.mark(.checkpoint, in: $0) }
        try await write(["format": .string(Self.format), "after": start.map(\.json) ?? .null])
        var (last, count) = (start, 0)
        while true {
            let after = last
            let rows = try await database.read { [chain] transaction in
                let rows = try AuditStore.sealed(after: after?.number ?? 0, limit: Self.batch, in: transaction)
                var (previous, lines, bytes): (AuditHead.Mark?, [(line: JSON, mark: AuditHead.Mark)], Int) = (after, [], 0)
                for (entry, mark) in rows {
                    let page = entry.action == AuditPage.action ? try AuditStore.page(entry.id, in: transaction) : nil
                    let row = SealedAuditRow(entry: entry, mark: mark, page: page)
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
        try await write(["end": last.map(\.json) ?? .null, "rows": .integer(count)])
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
        /// Each row matches its seal; `joins` tells whether the last is in the log, or is the start of the log.
        case intact(end: AuditHead.Mark, entries: Int, joins: Bool)
        case broken(number: Int64)
    }

    /// Verifies lines of an archive that follow one another.
    ///
    /// - Parameters:
    ///   - lines: the lines of rows.
    ///   - start: the row before the first; nil if it is the very first.
    /// - Returns: whether they match their seals.
    /// - Throws: ``ServerError`` `invalid` for lines that are not rows.
    package func verify(_ lines: [JSON], after start: AuditHead.Mark?) async throws -> Verification {
        var (last, entries) = (start, 0)
        for line in lines {
            guard let row = SealedAuditRow(line) else {
                throw ServerError(.invalid, "a line of the archive is not an audit entry")
            }
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
}
