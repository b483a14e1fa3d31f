// SPDX-License-Identifier: Apache-2.0

import CarrelArchive

/// Entries omitted from an archive because their names lead elsewhere: an error if one belongs to the publication, otherwise a
/// warning.
struct OmittedParts {
    private let entries: [OmittedArchiveEntry]
    private let source: String

    init(_ entries: [OmittedArchiveEntry], of source: String) {
        self.entries = entries
        self.source = source
    }

    /// The most entries that are left out: a larger number is not a mistake of a tool.
    private static let limit = 100

    /// - Parameter firstPart: finds the first entry that belongs to the publication.
    /// - Returns: a warning for each entry, where none does.
    /// - Throws: `ingest.archive` for the first that does, and for too many entries.
    func warnings(_ firstPart: ([OmittedArchiveEntry]) throws -> OmittedArchiveEntry?) throws -> [String] {
        if entries.count > Self.limit, let first = entries.first {
            throw IngestError(.archive, source, "\(first.message), and so do \(entries.count - 1) others")
        }
        if let part = try firstPart(entries) { throw IngestError(.archive, source, part.message) }
        return entries.map { "\(source): \($0.message); it is left out" }
    }
}
