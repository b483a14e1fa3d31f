import CarrelBytes

/// Entries about credentials that were recorded in one commit: they stand in one row, in their order, and are sealed as one.
struct AuditBundle: Sendable {
    /// What all entries in bundles are about.
    static let action = "edition.credentials"
    /// Entries of one bundle, at most.
    static let limit = 1000

    /// A byte for the form, then for each entry a byte for the outcome and four texts behind their lengths of two bytes.
    private(set) var bytes: [UInt8] = [Self.form]
    private(set) var count = 0
    /// The time of the last entry, which counts for all.
    private(set) var at = Instant(milliseconds: 0)

    private static let form: UInt8 = 1
    private static let outcomes: [Audit.Entry.Outcome] = [.allowed, .refused, .failed]

    /// Adds an entry, which must be about credentials.
    mutating func append(_ entry: Audit.Entry) {
        precondition(entry.action == Self.action && count < Self.limit, "the entry does not belong into this bundle")
        bytes.append(UInt8(Self.outcomes.firstIndex(of: entry.outcome) ?? 0))
        for text in [entry.actor, entry.subject, entry.reason, entry.requestID] {
            let utf8 = text.utf8.prefix(Int(UInt16.max))
            bytes.append(UInt8(truncatingIfNeeded: utf8.count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: utf8.count))
            bytes += utf8
        }
        count += 1
        at = max(at, entry.at)
    }

    /// The entries of a row.
    ///
    /// - Parameters:
    ///   - bytes: as ``bytes`` was.
    ///   - id: the row's.
    ///   - at: the row's.
    /// - Returns: the entries in their order; their ids are the row's with their places in it.
    /// - Throws: when it is of a form that this version does not know.
    static func entries(of bytes: [UInt8], id: String, at: Instant) throws -> [Audit.Entry] {
        var entries: [Audit.Entry] = []
        do {
            var cursor = ByteCursor(bytes.rawSpan)
            guard try cursor.u8() == form else { throw Malformed("the form is not known", at: 0) }
            while cursor.remaining > 0 {
                let number = Int(try cursor.u8())
                guard outcomes.indices.contains(number) else { throw Malformed("the outcome is not known", at: cursor.position) }
                let (actor, subject) = (try text(&cursor), try text(&cursor))
                let (reason, requestID) = (try text(&cursor), try text(&cursor))
                entries.append(
                    Audit.Entry(
                        at: at,
                        actor: actor,
                        action: action,
                        subject: subject,
                        outcome: outcomes[number],
                        reason: reason,
                        requestID: requestID,
                        id: "\(id)\(separator)\(place(entries.count))"
                    )
                )
            }
        } catch {
            throw ServerError(.home, "a bundle of audit entries cannot be read: \(error)")
        }
        return entries
    }

    /// The id of the row that an entry is in.
    static func row(of id: String) -> String { String(id.prefix { $0 != separator }) }

    private static let separator: Character = "."

    /// As text that sorts as the number does.
    private static func place(_ number: Int) -> String { String(String(number + limit * 10).dropFirst()) }

    private static func text(_ cursor: inout ByteCursor) throws(Malformed) -> String {
        let slice = try cursor.slice(Int(try cursor.u16()))
        return unsafe slice.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
