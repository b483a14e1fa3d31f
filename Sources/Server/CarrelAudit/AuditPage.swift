// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelWebAPI

/// Many entries of the audit log in one row, and so in one link of its chain.
///
/// Writing a row for each entry, and updating its indexes, takes more than half as long as the rest of issuing credentials. A
/// page is one write. The chain seals ``AuditRow/Page/digest``, which covers every byte of it, and ``filter`` selects the pages
/// that may contain an id.
///
/// The bytes are the entries, one after another: the time in milliseconds (8 bytes, big-endian), the outcome (1 byte, its
/// place among ``AuditEntry/Outcome``), then actor, action, subject, reason and request id, each as its length (2 bytes,
/// big-endian) and its UTF-8.
package struct AuditPage: Sendable {
    /// The action of the row that holds a page.
    static let action = "audit.page"
    /// Fewer entries become separate rows: a quiet server would have many small pages, and each search opens every page.
    static let leastCount = 64

    /// The row's id without its last part, in order of time; the entries' ids append their index.
    private let stem: Substring
    package private(set) var bytes: [UInt8] = []
    private(set) var count = 0
    private(set) var first: Instant
    private(set) var last: Instant

    /// Creates an empty page whose first entry has this time.
    package init(at moment: Instant) {
        stem = Random.uuid(at: moment).dropLast(4)
        (first, last) = (moment, moment)
    }

    /// The id of its row.
    package var id: String { id(of: Int(UInt16.max)) }

    private func id(of place: Int) -> String {
        let digits = String(place, radix: 16)
        return stem + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }

    package mutating func append(
        _ action: String,
        on subject: String,
        by actor: AuditActor,
        at moment: Instant,
        outcome: AuditEntry.Outcome,
        reason: String
    ) {
        bytes.append(bigEndian: moment.milliseconds)
        bytes.append(Self.byte(of: outcome))
        append(actor.id)
        append(action)
        append(subject)
        append(reason)
        append(actor.requestID)
        (first, last) = (min(first, moment), max(last, moment))
        count += 1
    }

    private mutating func append(_ field: String) {
        let field = AuditActor.cleaned(field).utf8Span
        bytes.append(bigEndian: UInt16(field.count))
        unsafe bytes.append(copying: field.span.bytes)
    }

    private static func byte(of outcome: AuditEntry.Outcome) -> UInt8 {
        switch outcome {
        case .allowed: 0
        case .refused: 1
        case .failed: 2
        }
    }

    /// The appended entries.
    package var entries: [AuditEntry] {
        // What was appended can be read.
        (try? Self.entries(in: bytes, of: id)) ?? []
    }

    /// Reads the entries of a stored page.
    ///
    /// - Parameters:
    ///   - bytes: the page.
    ///   - id: the id of its row.
    /// - Returns: the entries in the order of recording.
    /// - Throws: ``Malformed`` for bytes that are not a page.
    package static func entries(in bytes: [UInt8], of id: String) throws(Malformed) -> [AuditEntry] {
        var (entries, page): ([AuditEntry], AuditPage) = ([], AuditPage(stem: id.dropLast(4)))
        try each(in: bytes) { (at, outcome, fields, offset) throws(Malformed) in
            guard page.count < Int(UInt16.max) else { throw Malformed("audit page has too many entries", at: offset) }
            guard let outcome = AuditEntry.Outcome.allCases.first(where: { byte(of: $0) == outcome }) else {
                throw Malformed("audit entry has an unknown outcome", at: offset)
            }
            let texts = fields.map { String(decoding: bytes[$0], as: UTF8.self) }
            entries.append(
                AuditEntry(
                    at: Instant(milliseconds: at),
                    actor: texts[0],
                    action: texts[1],
                    subject: texts[2],
                    outcome: outcome,
                    reason: texts[3],
                    requestID: texts[4],
                    id: page.id(of: page.count)
                )
            )
            page.count += 1
        }
        return entries
    }

    /// The number of entries of a page.
    ///
    /// - Throws: ``Malformed`` for bytes that are not a page.
    static func count(of bytes: [UInt8]) throws(Malformed) -> Int {
        var count = 0
        try each(in: bytes) { (_, _, _, _) throws(Malformed) in count += 1 }
        return count
    }

    private init(stem: Substring) {
        self.stem = stem
        (first, last) = (Instant(milliseconds: 0), Instant(milliseconds: 0))
    }

    /// Passes the time, the outcome, the ranges of the five fields, and the start of each entry.
    private static func each(
        in bytes: [UInt8],
        _ body: (Int64, UInt8, [Range<Int>], Int) throws(Malformed) -> Void
    ) throws(Malformed) {
        var cursor = ByteCursor(bytes.rawSpan)
        var fields: [Range<Int>] = []
        while cursor.remaining > 0 {
            let start = cursor.position
            let at = Int64(bitPattern: try cursor.u64("time of an audit entry"))
            let outcome = try cursor.u8("outcome of an audit entry")
            fields.removeAll(keepingCapacity: true)
            for _ in 0..<5 {
                let count = Int(try cursor.u16("length of a field"))
                fields.append(cursor.position..<cursor.position + count)
                try cursor.skip(count, "field of an audit entry")
            }
            try body(at, outcome, fields, start)
        }
    }

    /// The filter of its actors, subjects, actions and outcomes.
    package var filter: AuditPageFilter {
        var (ids, outcomes): ([Range<Int>], Set<UInt8>) = ([], [])
        ids.reserveCapacity(3 * count)
        // What was appended can be read.
        try? Self.each(in: bytes) { (_, outcome, fields, _) throws(Malformed) in
            ids += fields[0..<3]
            outcomes.insert(outcome)
        }
        let words = AuditEntry.Outcome.allCases.filter { outcomes.contains(Self.byte(of: $0)) }.map(\.rawValue)
        return AuditPageFilter(ids: ids, in: bytes, and: words)
    }

    /// The rows to write: a single one, or one for each of a few entries.
    var rows: [AuditRow] {
        guard count >= Self.leastCount else { return entries.map { AuditRow(entry: $0) } }
        let content = AuditRow.Page(first: first, last: last, filter: filter.bits, bytes: bytes)
        let entry = AuditEntry(
            at: last,
            actor: AuditActor.server,
            action: Self.action,
            subject: "",
            reason: content.digest,
            id: id
        )
        return [AuditRow(entry: entry, page: content)]
    }
}
