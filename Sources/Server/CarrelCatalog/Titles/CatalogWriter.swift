// SPDX-License-Identifier: Apache-2.0

package import CarrelIngest
package import CarrelStore
package import CarrelWorks

/// The effect of an ingest on the catalog.
package enum CatalogChange: Sendable, Equatable {
    case created
    /// A product got other contents.
    case replaced
    /// The catalog had it already.
    case none
}

/// An entry of the catalog after an ingest.
package struct Entered<Entry: Sendable>: Sendable {
    package let entry: Entry
    package let change: CatalogChange
    /// Warnings for the operator, in sentences.
    package let warnings: [String]

    package init(_ entry: Entry, _ change: CatalogChange, warnings: [String] = []) {
        self.entry = entry
        self.change = change
        self.warnings = warnings
    }
}

/// A destination for the results of ingests: the database of this process, or the server that has it.
package protocol CatalogWriter<Made, Entry>: Sendable {
    /// The result of ingesting a source.
    associatedtype Made: Sendable
    /// The resulting catalog entry.
    associatedtype Entry: Sendable

    /// Finds the entry of the same source, and updates its metadata.
    ///
    /// - Parameters:
    ///   - sourceHash: the source's hash.
    ///   - cover: an image that replaces its cover.
    /// - Returns: nil if the catalog has nothing of the source.
    /// - Throws: an error if it cannot be written.
    func again(_ sourceHash: [UInt8], cover: (blob: BlobID, mediaType: String)?) async throws -> Entered<Entry>?

    /// Adds the result to the catalog. Repeating it changes nothing.
    ///
    /// - Returns: the entry, and its outcome.
    /// - Throws: if it cannot be written.
    func enter(_ made: Made) async throws -> Entered<Entry>

    /// Removes blobs of a failed ingest that the catalog does not use. In doubt they stay, until a ``BlobSweep``.
    func discard(_ blobs: Set<BlobID>) async
}

/// A register of editions, which knows when their pages changed.
package protocol EditionCatalogRegister: CatalogWriter where Made == IngestedEdition {
    /// The pages that the product has, and the time now.
    func pageHistory() async throws -> PageHistory
}
