import CarrelArchive

/// What was left out of an archive because its name leads elsewhere: refused where it belongs to the publication, and else a warning.
struct OmittedParts {
    private let entries: [OmittedArchiveEntry]
    private let source: String

    init(_ entries: [OmittedArchiveEntry], of source: String) {
        self.entries = entries
        self.source = source
    }

    /// Entries that are left out at most: each is looked for in every text of the publication.
    private static let limit = 20

    /// - Parameter isPart: whether an entry belongs to the publication.
    /// - Returns: a warning for each that does not.
    /// - Throws: `ingest.archive` for the first that does, and for more entries than a tool writes by mistake.
    func warnings(_ isPart: (OmittedArchiveEntry) throws -> Bool) throws -> [String] {
        if entries.count > Self.limit, let first = entries.first {
            throw IngestError(.archive, source, "\(first.message), and so do \(entries.count - 1) others")
        }
        return try entries.map { entry in
            if try isPart(entry) { throw IngestError(.archive, source, entry.message) }
            return "\(source): \(entry.message); it is left out"
        }
    }
}
