// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
package import CarrelStore
import CarrelSubscription
import CarrelWorks

// How editions are written.
extension EditionStore {
    static func insert(_ edition: Edition, in transaction: any Transaction) throws {
        let search = SearchText(edition.title.metadata, productID: edition.productID)
        let values: [SQLValue] = [
            .text(edition.title.id), .text(edition.productID), .text(edition.price.rawValue), .text(edition.state.rawValue),
            .instant(edition.issuedAt), .instant(edition.publishedAt), .instant(edition.updatedAt), .instant(edition.contentAt),
            .integer(edition.byteCount), .text(edition.entry), .integer(Int64(edition.resourceCount)),
            .integer(Int64(edition.sampleCount)), .text(search.language), .text(search.title), .text(search.author),
            .text(search.text), .text(edition.protection.licensed.rawValue), .integer(Int64(edition.protection.keyNumber)),
            SQLValue(edition.protection.keyBlob),
        ]
        _ = try transaction.run(insert, values)
        try EditionIndex.set(edition, search, in: transaction)
    }

    /// Writes everything of an edition but its product id and what the title's row holds.
    static func update(_ edition: Edition, in transaction: any Transaction) throws {
        let search = SearchText(edition.title.metadata, productID: edition.productID)
        let values: [SQLValue] = [
            .text(edition.title.id), .text(edition.price.rawValue), .text(edition.state.rawValue), .instant(edition.issuedAt),
            .instant(edition.publishedAt), .instant(edition.withdrawnAt), .instant(edition.updatedAt),
            .instant(edition.contentAt),
            .integer(edition.byteCount), .text(edition.entry), .integer(Int64(edition.resourceCount)),
            .integer(Int64(edition.sampleCount)), .text(search.language), .text(search.title), .text(search.author),
            .text(search.text), .text(edition.protection.licensed.rawValue), .integer(Int64(edition.protection.keyNumber)),
            SQLValue(edition.protection.keyBlob), SQLValue(edition.protection.tags?.blob),
            SQLValue(edition.protection.tags?.file),
        ]
        _ = try transaction.run(update, values)
        try EditionIndex.set(edition, search, in: transaction)
    }

    /// Notes the blob of a protected file's tags, unless the edition has other contents or another key by now.
    ///
    /// - Parameters:
    ///   - tags: the blob, and the digest of the head of the file that the tags are of.
    ///   - edition: the edition that the tags were computed for.
    ///   - transaction: the transaction.
    /// - Returns: whether they were noted.
    /// - Throws: the database's error.
    package static func setTags(_ tags: (blob: BlobID, file: String), of edition: Edition, in transaction: any Transaction) throws
        -> Bool
    {
        let values: [SQLValue] = [
            .text(edition.title.id), .integer(Int64(edition.protection.keyNumber)), .text(edition.mediaBlob),
            .text(tags.blob.text), .text(tags.file),
        ]
        return try transaction.run(setTags, values) > 0
    }

    /// Writes the title's row of a new product.
    static func insertTitle(_ title: Title, sourceHash: [UInt8], mediaBlob: String, in transaction: any Transaction) throws {
        guard
            try TitleStore.insert(title, sourceHash: sourceHash, mediaBlob: mediaBlob, segmentIndex: [], in: transaction)
        else { throw ServerError(.conflict, "a random id was drawn twice") }
    }

    /// Puts other content into the title's row.
    static func setContent(_ title: Title, sourceHash: [UInt8], mediaBlob: String, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(title.id), .text(title.kind.rawValue), SQLValue(title.metadata.isbn?.description),
            .blob(TitleStore.uniqueKey(of: title)), .text(title.metadata.title),
            .text(TitleStore.metadataText(title.metadata)), .text(mediaBlob), SQLValue(title.cover?.blob),
            SQLValue(title.cover?.mediaType), .blob(sourceHash),
        ]
        _ = try transaction.run(setContent, values)
    }

    /// Replaces the resources of a title.
    static func setResources(_ resources: [EditionResource], of title: String, in transaction: any Transaction) throws {
        _ = try transaction.run(deleteResources, [.text(title)])
        for (place, resource) in resources.enumerated() {
            let values: [SQLValue] = [
                .text(title), .text(resource.path), .integer(Int64(place)), .text(resource.mediaType), .integer(resource.offset),
                .integer(resource.byteCount), .text(resource.digest), .integer(resource.isSample ? 1 : 0),
                .instant(resource.changedAt),
            ]
            _ = try transaction.run(insertResource, values)
        }
    }

    static func setSample(_ isSample: Bool, _ path: String, of title: String, in transaction: any Transaction) throws {
        _ = try transaction.run(setSample, [.text(title), .text(path), .integer(isSample ? 1 : 0)])
    }

    static func resource(_ path: String, of title: String, in transaction: any Transaction) throws -> EditionResource? {
        try transaction.row(resource, [.text(title), .text(path)]).map(resource)
    }

    /// The resources of a title in their order.
    static func resources(of title: String, in transaction: any Transaction) throws -> [EditionResource] {
        try transaction.rows(resources, [.text(title)]).map(resource)
    }

    private static func resource(_ row: Row) throws -> EditionResource {
        EditionResource(
            path: try row.text(0),
            mediaType: try row.text(1),
            offset: try row.integer(2),
            byteCount: try row.integer(3),
            digest: try row.text(4),
            changedAt: try row.instant(6),
            isSample: try row.flag(5)
        )
    }
}
