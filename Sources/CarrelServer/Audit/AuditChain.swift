import CarrelBytes
import CarrelCrypto
import CarrelStore

/// How the seals of the audit log follow from one another.
struct AuditChain: Sendable {
    let key: HMACSHA256
    /// How far this home has seen it.
    let head: AuditHead

    /// The number and the seal of an entry behind `last`, nil for the first: it covers the seal before it, and every field behind
    /// its length.
    func mark(of entry: Audit.Entry, after last: AuditHead.Mark?) -> AuditHead.Mark {
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
        return AuditHead.Mark(number: (last?.number ?? 0) + 1, seal: key.authenticate(bytes.rawSpan))
    }

    /// The number and the seal of the last sealed entry; nil before anything was sealed.
    ///
    /// - Throws: ``ServerError`` `conflict` when what this home has seen, `known`, is gone or is another.
    func end(in transaction: any Transaction, _ known: AuditHead.Mark?) throws -> AuditHead.Mark? {
        if let known, try AuditStore.seal(of: known.number, in: transaction) != known.seal { throw head.isMissing }
        return try AuditStore.head(in: transaction)
    }
}
