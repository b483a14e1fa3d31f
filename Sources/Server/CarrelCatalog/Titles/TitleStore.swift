// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
package import CarrelBytes
import CarrelHome
import CarrelJSON
package import CarrelStore
import CarrelWebAPI
import CarrelWorks

/// The SQL of titles.
package enum TitleStore {
    static let insert = SQL(
        """
        INSERT INTO titles (id, kind, isbn, source_hash, title, metadata, duration_ms, media_blob, segment_index, cover_blob,
            cover_type, sample_blob, sample_ms, created_at, content_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (source_hash) DO NOTHING
        """
    )
    static let byID = SQL(
        """
        SELECT id, kind, metadata, duration_ms, cover_blob, cover_type, sample_blob, sample_ms, created_at
        FROM titles WHERE id = $1
        """
    )
    static let bySource = SQL(
        """
        SELECT id, kind, metadata, duration_ms, cover_blob, cover_type, sample_blob, sample_ms, created_at
        FROM titles WHERE content_hash = $1 AND kind = 'audiobook'
        """
    )
    static let byISBN = SQL(
        """
        SELECT id, kind, metadata, duration_ms, cover_blob, cover_type, sample_blob, sample_ms, created_at
        FROM titles WHERE isbn = $1 AND kind = 'audiobook' ORDER BY created_at DESC, id
        """
    )
    static let list = SQL(
        """
        SELECT id, kind, metadata, duration_ms, cover_blob, cover_type, sample_blob, sample_ms, created_at
        FROM titles WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3
        """
    )
    static let updateMetadata = SQL("UPDATE titles SET title = $2, isbn = $3, metadata = $4 WHERE id = $1")
    static let setCover = SQL("UPDATE titles SET cover_blob = $2, cover_type = $3 WHERE id = $1")
    static let kind = SQL("SELECT kind FROM titles WHERE id = $1")
    static let idsByISBN = SQL("SELECT id FROM titles WHERE isbn = $1 AND kind = 'audiobook' ORDER BY created_at, id LIMIT 10")
    static let ids = SQL("SELECT id FROM titles ORDER BY id")
    static let media = SQL("SELECT media_blob, segment_index FROM titles WHERE id = $1")
    static let longest = SQL("SELECT max(duration_ms) FROM titles")
    static let blobUsers = SQL(
        """
        SELECT (SELECT count(*) FROM titles WHERE media_blob = $1 OR cover_blob = $1 OR sample_blob = $1)
            + (SELECT count(*) FROM editions WHERE tags_blob = $1)
        """
    )

    static let blobs = SQL(
        """
        SELECT t.id, t.media_blob, t.cover_blob, t.sample_blob, e.tags_blob
        FROM titles t LEFT JOIN editions e ON e.title_id = t.id WHERE t.id > $1 ORDER BY t.id LIMIT $2
        """
    )

    static let blobUses = SQL(
        """
        SELECT t.id, t.title, t.kind, e.product_id, t.media_blob, t.cover_blob, t.sample_blob, e.tags_blob
        FROM titles t LEFT JOIN editions e ON e.title_id = t.id WHERE t.id > $1 ORDER BY t.id, e.product_id LIMIT $2
        """
    )

    package static let statements = [
        insert, byID, bySource, byISBN, list, updateMetadata, setCover, kind, idsByISBN, ids, media, longest, blobUsers, blobs,
        blobUses,
    ]

    /// The ids of all titles.
    package static func allIDs(in transaction: any Transaction) throws -> [String] {
        try transaction.rows(ids).map { try $0.text(0) }
    }

    /// Whether the title was inserted; false if its source is already in the catalog.
    static func insert(
        _ title: Title,
        sourceHash: [UInt8],
        mediaBlob: String,
        segmentIndex: [UInt8],
        in transaction: any Transaction
    ) throws -> Bool {
        let values: [SQLValue] = [
            .text(title.id), .text(title.kind.rawValue), SQLValue(title.metadata.isbn?.description),
            .blob(title.kind == .audiobook ? sourceHash : uniqueKey(of: title)), .text(title.metadata.title),
            .text(metadataText(title.metadata)), .integer(title.durationMS), .text(mediaBlob),
            .blob(segmentIndex), SQLValue(title.cover?.blob), SQLValue(title.cover?.mediaType),
            SQLValue(title.sample?.blob), title.sample.map { .integer($0.durationMS) } ?? .null,
            .instant(title.createdAt), .blob(sourceHash),
        ]
        return try transaction.run(insert, values) == 1
    }

    /// The `source_hash` of an edition's title. One content may be several products, so this column, which no engine but
    /// PostgreSQL can relieve of its constraint, contains a value that is unique by itself; `content_hash` identifies the
    /// content.
    static func uniqueKey(of title: Title) -> [UInt8] { Array(title.id.utf8) }

    static func updateMetadata(_ metadata: TitleMetadata, of id: String, in transaction: any Transaction) throws {
        let values: [SQLValue] = [
            .text(id), .text(metadata.title), SQLValue(metadata.isbn?.description), .text(metadataText(metadata)),
        ]
        _ = try transaction.run(updateMetadata, values)
    }

    static func setCover(_ blob: String, _ mediaType: String, of id: String, in transaction: any Transaction) throws {
        try transaction.run(setCover, [.text(id), .text(blob), .text(mediaType)])
    }

    static func metadataText(_ metadata: TitleMetadata) -> String {
        String(decoding: JSON.object(metadata.json).write(), as: UTF8.self)
    }

    package static func title(id: String, in transaction: any Transaction) throws -> Title? {
        try transaction.row(byID, [.text(id)]).map { try title($0) }
    }

    static func title(sourceHash: [UInt8], in transaction: any Transaction) throws -> Title? {
        try transaction.row(bySource, [.blob(sourceHash)]).map { try title($0) }
    }

    /// The audiobooks of an ISBN, the newest first.
    package static func titles(isbn: ISBN, in transaction: any Transaction) throws -> [Title] {
        try transaction.rows(byISBN, [.text(isbn.description)]).map { try title($0) }
    }

    static func list(after: (Instant, String)?, limit: Int, in transaction: any Transaction) throws -> [Title] {
        let values: [SQLValue] = [
            .integer(after?.0.milliseconds ?? Int64.min), .text(after?.1 ?? ""), .integer(Int64(limit)),
        ]
        return try transaction.rows(list, values).map { try title($0) }
    }

    /// The kind of a title; nil without such a title.
    package static func kind(of id: String, in transaction: any Transaction) throws -> Title.Kind? {
        try transaction.row(kind, [.text(id)]).flatMap { Title.Kind(rawValue: try $0.text(0)) }
    }

    package static func ids(isbn: ISBN, in transaction: any Transaction) throws -> [String] {
        try transaction.rows(idsByISBN, [.text(isbn.description)]).map { try $0.text(0) }
    }

    /// The blob of a title's media and its serialized segment index.
    package static func media(id: String, in transaction: any Transaction) throws -> (blob: String, index: [UInt8])? {
        try transaction.row(media, [.text(id)]).map { (try $0.text(0), try $0.blob(1)) }
    }

    /// Duration of the longest title, in milliseconds; 0 without titles.
    package static func longest(in transaction: any Transaction) throws -> Int64 {
        try transaction.row(longest, [])?.integerIfPresent(0) ?? 0
    }

    /// Titles in the order of their ids, with the blobs that each uses.
    static func blobs(
        after id: String,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [(title: String, blobs: [BlobID])] {
        try transaction.rows(blobs, [.text(id), .integer(Int64(limit))]).map { row in
            let names = [try row.text(1)] + (try (2...4).map { try row.textIfPresent($0) })
            return (try row.text(0), names.compactMap { $0.flatMap { BlobID($0) } })
        }
    }

    /// Whether a title uses the blob.
    static func uses(blob: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(blobUsers, [.text(blob)]).map { try $0.integer(0) > 0 } ?? false
    }

    /// The title whose columns begin with column `first`.
    package static func title(_ row: Row, from first: Int = 0) throws -> Title {
        guard let kind = Title.Kind(rawValue: try row.text(first + 1)) else {
            throw ServerError(.home, "a title has a kind that this version does not know")
        }
        let metadata: TitleMetadata
        do {
            let text = Array(try row.text(first + 2).utf8)
            metadata = try TitleMetadata(json: try JSON.parse(text.rawSpan).object ?? [:])
        } catch let error as Malformed {
            throw ServerError(.home, "the metadata of title \(try row.text(first)) cannot be read: \(error)")
        }
        var cover: (blob: String, mediaType: String)?
        if let blob = try row.textIfPresent(first + 4), let type = try row.textIfPresent(first + 5) { cover = (blob, type) }
        var sample: (blob: String, durationMS: Int64)?
        if let blob = try row.textIfPresent(first + 6), let duration = try row.integerIfPresent(first + 7) {
            sample = (blob, duration)
        }
        return Title(
            id: try row.text(first),
            kind: kind,
            metadata: metadata,
            durationMS: try row.integer(first + 3),
            cover: cover,
            sample: sample,
            createdAt: try row.instant(first + 8)
        )
    }
}
