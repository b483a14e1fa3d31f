// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCatalog
import CarrelCrypto
import CarrelIngest
import CarrelServer
import CarrelStore

extension TestService {
    /// Puts a published product into the catalog.
    package func add(product: String, issuedAt: Instant? = nil) async throws {
        let (title, issued) = (Random.uuid(), issuedAt ?? clock.now)
        try await service.database.write { transaction in
            try transaction.run(
                SQL(
                    """
                    INSERT INTO titles (id, kind, source_hash, title, metadata, duration_ms, media_blob, segment_index, created_at)
                    VALUES ($1, 'edition', $2, $3, '{}', 0, '', $2, $4)
                    """
                ),
                [.text(title), .blob(Array(title.utf8)), .text(product), .integer(issued.milliseconds)]
            )
            try transaction.run(
                SQL(
                    """
                    INSERT INTO editions (title_id, product_id, price, state, issued_at, updated_at)
                    VALUES ($1, $2, 'paid', 'published', $3, $3)
                    """
                ),
                [.text(title), .text(product), .integer(issued.milliseconds)]
            )
        }
    }
}

extension TestService {
    /// Takes an edition, published and paid where nothing else is said.
    @discardableResult
    package func ingest(
        _ path: String,
        _ productID: String,
        samples: [String] = [],
        _ configure: (inout Edition.Terms) -> Void = { _ in }
    ) async throws -> IngestPipeline.Outcome<Edition> {
        var terms = Edition.Terms(productID: productID)
        configure(&terms)
        var options = EditionOptions(productID: productID)
        options.samples = samples
        return try await service.ingesting.ingest(path, options, terms)
    }

    /// The content of an edition.
    package func blob(of edition: Edition) throws -> [UInt8] {
        guard let id = BlobID(edition.mediaBlob) else { return [] }
        let blob = try service.blobs.open(id)
        return try blob.bytes(at: 0, count: Int(blob.byteCount))
    }

    /// How many blobs there are.
    package func blobCount() throws -> Int {
        var count = 0
        try service.blobs.each { _ in count += 1 }
        return count
    }
}
