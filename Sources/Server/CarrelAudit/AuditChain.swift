// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelHome
import CarrelStore
import CarrelThreads

/// The chain of seals of the audit log, and the last seal that this home has seen.
package final class AuditChain: Sendable {
    private let key: HMACSHA256
    private let head: AuditHead
    /// The last that this process has seen; the file follows within a second.
    private let last = Locked<AuditHead.Mark?>(nil)

    package init(key: HMACSHA256, head: AuditHead) {
        self.key = key
        self.head = head
    }

    /// The number and the seal of the entry after `last` (nil for the first): the seal covers the previous seal, and every field
    /// with its length before it.
    ///
    /// - Throws: ``ServerError`` `conflict` when there is no number any more, which only a made-up entry can have taken.
    func mark(of entry: AuditEntry, after last: AuditHead.Mark?) throws(ServerError) -> AuditHead.Mark {
        let (number, isTooLarge) = (last?.number ?? 0).addingReportingOverflow(1)
        if isTooLarge { throw head.isMissing }
        var bytes = last?.seal ?? []
        bytes.reserveCapacity(512)
        let fields = [
            entry.id, String(entry.at.milliseconds), entry.actor, entry.action, entry.subject, entry.outcome.rawValue,
            entry.reason, entry.requestID,
        ]
        for field in fields {
            bytes += String(field.utf8.count).utf8
            bytes.append(UInt8(ascii: ":"))
            bytes += field.utf8
        }
        return AuditHead.Mark(number: number, seal: key.authenticate(bytes.rawSpan))
    }

    /// The number and the seal of the last entry that this home has seen sealed; nil before any was.
    ///
    /// - Throws: ``ServerError`` `home` if the file does not say.
    func known() throws(ServerError) -> AuditHead.Mark? {
        let kept = try head.read()
        return last.withLock { last in
            if let last, last.number >= kept?.number ?? 0 { return last }
            return kept
        }
    }

    /// The number and the seal of the last sealed entry; nil before anything was sealed.
    ///
    /// - Throws: ``ServerError`` `conflict` if what this home has seen is gone or is another, `home` when the file does not say.
    func end(in transaction: any Transaction) throws -> AuditHead.Mark? {
        if let known = try known(), try AuditStore.seal(of: known.number, in: transaction) != known.seal {
            // What was pruned is gone by right.
            guard let start = try mark(.checkpoint, in: transaction), start == known || start.number > known.number else {
                throw head.isMissing
            }
        }
        return try AuditStore.head(in: transaction) ?? mark(.checkpoint, in: transaction)
    }

    /// A place in the chain that the database remembers; nil if there is none.
    ///
    /// - Throws: ``ServerError`` `conflict` if another than this home's server wrote it.
    func mark(_ kind: AuditMark, in transaction: any Transaction) throws -> AuditHead.Mark? {
        guard let (mark, mac) = try AuditStore.mark(kind, in: transaction) else { return nil }
        let expected = key.authenticate(kind.sealed(mark).rawSpan)
        guard constantTimeEqual(expected.rawSpan, mac.rawSpan) else {
            throw ServerError(.conflict, "the \(kind.rawValue) of the audit log does not match its seal")
        }
        return mark
    }

    /// Stores a position of the chain in the database, under a separate seal.
    func set(_ kind: AuditMark, to mark: AuditHead.Mark, in transaction: any Transaction) throws {
        try AuditStore.set(kind, to: mark, mac: key.authenticate(kind.sealed(mark).rawSpan), in: transaction)
    }

    /// The number of entries of a row; nil if it does not match the seal after `last`.
    package func count(_ row: SealedAuditRow, after last: AuditHead.Mark?) throws -> Int? {
        guard row.mark == (try mark(of: row.entry, after: last)) else { return nil }
        guard row.entry.action == AuditPage.action else { return row.page == nil ? 1 : nil }
        guard let page = row.page, page.digest == row.entry.reason else { return nil }
        return try? AuditPage.count(of: page.bytes)
    }

    /// The numbers and seals of entries that continue the chain.
    ///
    /// - Throws: as ``end(in:)`` does, and `conflict` when there is no number any more.
    func marks(of entries: [AuditEntry], in transaction: any Transaction) throws -> [AuditHead.Mark] {
        var last = try end(in: transaction)
        return try entries.map { entry in
            let mark = try mark(of: entry, after: last)
            last = mark
            return mark
        }
    }

    /// Records a committed mark.
    func saw(_ mark: AuditHead.Mark) {
        last.withLock { last in
            if mark.number > last?.number ?? 0 { last = mark }
        }
    }

    /// Writes the last seen seal to the file.
    func keep() throws(ServerError) {
        if let mark = last.withLock({ $0 }) { try head.write(mark) }
    }
}
