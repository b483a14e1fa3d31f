// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelHome
package import CarrelStore
import CarrelSubscription
import CarrelWorks

/// The SQL of editions.
package enum EditionStore {
    static let products = SQL("SELECT product_id, issued_at, price, state FROM editions ORDER BY issued_at, product_id")
    package static let mark = SQL("SELECT count(*), CAST(coalesce(sum(updated_at), 0) AS BIGINT) FROM editions")
    static let insert = SQL(
        """
        INSERT INTO editions (title_id, product_id, price, state, issued_at, published_at, updated_at, content_at, byte_count,
            entry_path, resource_count, sample_count, language, search_title, search_author, search_text, licensed, key_number,
            key_blob)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
        """
    )
    static let update = SQL(
        """
        UPDATE editions SET price = $2, state = $3, issued_at = $4, published_at = $5, withdrawn_at = $6, updated_at = $7,
            content_at = $8, byte_count = $9, entry_path = $10, resource_count = $11, sample_count = $12, language = $13,
            search_title = $14, search_author = $15, search_text = $16, licensed = $17, key_number = $18, key_blob = $19,
            tags_blob = $20, tags_of = $21
        WHERE title_id = $1
        """
    )
    static let setContent = SQL(
        """
        UPDATE titles SET kind = $2, isbn = $3, source_hash = $4, content_hash = $10, title = $5, metadata = $6, media_blob = $7, cover_blob = $8,
            cover_type = $9
        WHERE id = $1
        """
    )
    static let byProduct = SQL(
        """
        SELECT t.id, t.kind, t.metadata, t.duration_ms, t.cover_blob, t.cover_type, t.sample_blob, t.sample_ms, t.created_at,
            e.product_id, e.price, e.state, e.issued_at, e.published_at, e.withdrawn_at, e.updated_at, e.content_at, e.byte_count,
            e.entry_path, e.resource_count, e.sample_count, t.media_blob, e.licensed, e.key_number, e.key_blob, e.tags_blob,
            e.tags_of
        FROM editions e JOIN titles t ON t.id = e.title_id WHERE e.product_id = $1
        """
    )
    static let byContent = SQL(
        """
        SELECT t.id, t.kind, t.metadata, t.duration_ms, t.cover_blob, t.cover_type, t.sample_blob, t.sample_ms, t.created_at,
            e.product_id, e.price, e.state, e.issued_at, e.published_at, e.withdrawn_at, e.updated_at, e.content_at, e.byte_count,
            e.entry_path, e.resource_count, e.sample_count, t.media_blob, e.licensed, e.key_number, e.key_blob, e.tags_blob,
            e.tags_of
        FROM editions e JOIN titles t ON t.id = e.title_id WHERE e.product_id = $1 AND t.content_hash = $2
        """
    )
    static let byTitle = SQL(
        """
        SELECT t.id, t.kind, t.metadata, t.duration_ms, t.cover_blob, t.cover_type, t.sample_blob, t.sample_ms, t.created_at,
            e.product_id, e.price, e.state, e.issued_at, e.published_at, e.withdrawn_at, e.updated_at, e.content_at, e.byte_count,
            e.entry_path, e.resource_count, e.sample_count, t.media_blob, e.licensed, e.key_number, e.key_blob, e.tags_blob,
            e.tags_of
        FROM editions e JOIN titles t ON t.id = e.title_id WHERE e.title_id = $1
        """
    )
    /// The newest issue first.
    static let list = SQL(
        """
        SELECT t.id, t.kind, t.metadata, t.duration_ms, t.cover_blob, t.cover_type, t.sample_blob, t.sample_ms, t.created_at,
            e.product_id, e.price, e.state, e.issued_at, e.published_at, e.withdrawn_at, e.updated_at, e.content_at, e.byte_count,
            e.entry_path, e.resource_count, e.sample_count, t.media_blob, e.licensed, e.key_number, e.key_blob, e.tags_blob,
            e.tags_of
        FROM editions e JOIN titles t ON t.id = e.title_id
        WHERE (e.issued_at, e.product_id) < ($1, $2) AND (e.state <> 'draft' OR $3 = 1)
        ORDER BY e.issued_at DESC, e.product_id DESC LIMIT $4
        """
    )
    /// A page of published editions of a kind, a price and a language; an empty text matches everything.
    static let browse = SQL(
        """
        SELECT t.id, t.kind, t.metadata, t.duration_ms, t.cover_blob, t.cover_type, t.sample_blob, t.sample_ms, t.created_at,
            e.product_id, e.price, e.state, e.issued_at, e.published_at, e.withdrawn_at, e.updated_at, e.content_at, e.byte_count,
            e.entry_path, e.resource_count, e.sample_count, t.media_blob, e.licensed, e.key_number, e.key_blob, e.tags_blob,
            e.tags_of
        FROM editions e JOIN titles t ON t.id = e.title_id
        WHERE e.state = 'published' AND ($1 = '' OR t.kind = $1) AND ($2 = '' OR e.price = $2) AND ($3 = '' OR e.language = $3)
        ORDER BY e.issued_at DESC, e.product_id DESC LIMIT $4 OFFSET $5
        """
    )
    /// Counts the editions by kind, price and language.
    static let counts = SQL(
        """
        SELECT t.kind, e.price, e.language, count(*)
        FROM editions e JOIN titles t ON t.id = e.title_id
        WHERE e.state = 'published'
        GROUP BY t.kind, e.price, e.language ORDER BY t.kind, e.price, e.language
        """
    )
    /// Published editions with the n-grams of $1: the index finds candidates, the patterns decide.
    static let found = SQL(
        sqlite: """
            SELECT e.title_id, e.product_id, e.issued_at, e.search_title, e.search_author, t.kind, e.price, e.language
            FROM edition_search CROSS JOIN editions e ON e.search_id = edition_search.rowid JOIN titles t ON t.id = e.title_id
            WHERE edition_search MATCH $1 AND e.state = 'published'
                AND e.search_title LIKE $2 ESCAPE '!' AND e.search_author LIKE $3 ESCAPE '!'
                AND e.search_text LIKE $4 ESCAPE '!' AND e.search_text LIKE $5 ESCAPE '!'
                AND e.search_text LIKE $6 ESCAPE '!' AND e.search_text LIKE $7 ESCAPE '!'
            """,
        postgresql: """
            SELECT e.title_id, e.product_id, e.issued_at, e.search_title, e.search_author, t.kind, e.price, e.language
            FROM editions e JOIN titles t ON t.id = e.title_id
            WHERE e.search_grams @@ CAST('''' || replace($1, ' ', ''' & ''') || '''' AS tsquery) AND e.state = 'published'
                AND e.search_title LIKE $2 ESCAPE '!' AND e.search_author LIKE $3 ESCAPE '!'
                AND e.search_text LIKE $4 ESCAPE '!' AND e.search_text LIKE $5 ESCAPE '!'
                AND e.search_text LIKE $6 ESCAPE '!' AND e.search_text LIKE $7 ESCAPE '!'
            """
    )
    /// Marks an edition as indexed.
    static let markIndexed = SQL(
        sqlite: """
            UPDATE editions SET search_version = $2, search_at = updated_at,
                search_id = coalesce(search_id, (SELECT coalesce(max(search_id), 0) + 1 FROM editions))
            WHERE title_id = $1
            """,
        postgresql: "UPDATE editions SET search_version = $2, search_at = updated_at WHERE title_id = $1"
    )
    static let setGrams = SQL(
        sqlite: "INSERT OR REPLACE INTO edition_search (rowid, grams) SELECT search_id, $2 FROM editions WHERE title_id = $1",
        postgresql: "UPDATE editions SET search_grams = array_to_tsvector(string_to_array($2, ' ')) WHERE title_id = $1"
    )
    static let removeGrams = SQL(
        sqlite: "DELETE FROM edition_search WHERE rowid = (SELECT search_id FROM editions WHERE title_id = $1)",
        postgresql: "UPDATE editions SET search_grams = NULL WHERE title_id = $1"
    )
    /// The plus keeps SQLite from the index of versions, with which it would read every edition.
    package static let notIndexed = SQL(
        """
        SELECT title_id, state, search_text FROM editions WHERE search_version < $1
        UNION ALL
        SELECT title_id, state, search_text FROM editions WHERE search_at <> updated_at AND +search_version >= $1
        LIMIT $2
        """
    )
    static let insertResource = SQL(
        """
        INSERT INTO edition_resources (title_id, path, place, media_type, byte_offset, byte_count, digest, is_sample, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """
    )
    static let deleteResources = SQL("DELETE FROM edition_resources WHERE title_id = $1")
    static let resource = SQL(
        """
        SELECT path, media_type, byte_offset, byte_count, digest, is_sample, changed_at
        FROM edition_resources WHERE title_id = $1 AND path = $2
        """
    )
    static let resources = SQL(
        """
        SELECT path, media_type, byte_offset, byte_count, digest, is_sample, changed_at
        FROM edition_resources WHERE title_id = $1 ORDER BY place
        """
    )
    /// Only for the contents and the key that the tags were computed for.
    static let setTags = SQL(
        """
        UPDATE editions SET tags_blob = $4, tags_of = $5
        WHERE title_id = $1 AND key_number = $2 AND key_blob = $3
            AND EXISTS (SELECT 1 FROM titles WHERE id = $1 AND media_blob = $3)
        """
    )
    static let keyNumbers = SQL("SELECT title_id, key_number FROM editions WHERE key_number > 0 OR licensed <> 'off'")
    static let setSample = SQL("UPDATE edition_resources SET is_sample = $3 WHERE title_id = $1 AND path = $2")

    package static let statements = [
        products, mark, insert, update, setContent, byProduct, byContent, byTitle, list, browse, counts, found, markIndexed,
        setGrams, removeGrams, notIndexed, insertResource, deleteResources, resource, resources, setSample, setTags, keyNumbers,
    ]

    /// All products and their mark; nil if the mark is unchanged.
    static func products(
        unless known: ProductCatalogCache.Mark?,
        in transaction: any Transaction
    ) throws -> (products: [Product], mark: ProductCatalogCache.Mark)? {
        guard let row = try transaction.row(mark, []) else { return nil }
        let mark = ProductCatalogCache.Mark(count: try row.integer(0), sum: try row.integer(1))
        return mark == known ? nil : (try products(in: transaction), mark)
    }

    /// Every edition as entitlement sees it.
    static func products(in transaction: any Transaction) throws -> [Product] {
        try transaction.rows(products, []).map {
            Product(
                id: try $0.text(0),
                issuedAt: try $0.instant(1),
                isFree: try $0.text(2) == Edition.Price.free.rawValue,
                state: try state(try $0.text(3))
            )
        }
    }

    /// Whether the catalog has a product of this id.
    package static func isProduct(_ id: String, in transaction: any Transaction) throws -> Bool {
        try transaction.row(byProduct, [.text(id)]) != nil
    }

    package static func edition(product: String, in transaction: any Transaction) throws -> Edition? {
        try transaction.row(byProduct, [.text(product)]).map(edition)
    }

    /// The product if it has the content of a source.
    static func edition(product: String, sourceHash: [UInt8], in transaction: any Transaction) throws -> Edition? {
        try transaction.row(byContent, [.text(product), .blob(sourceHash)]).map(edition)
    }

    package static func edition(title: String, in transaction: any Transaction) throws -> Edition? {
        try transaction.row(byTitle, [.text(title)]).map(edition)
    }

    /// The numbers of the last keys of titles that have or had a protected file.
    package static func keyNumbers(in transaction: any Transaction) throws -> [String: Int] {
        let rows = try transaction.rows(keyNumbers, []).map { (try $0.text(0), Int(try $0.integer(1))) }
        return Dictionary(rows) { first, _ in first }
    }

    /// A page of editions, the newest issue first, after the last of the page before.
    package static func list(
        after: (issuedAt: Instant, productID: String)?,
        withDrafts: Bool,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [Edition] {
        let values: [SQLValue] = [
            .integer(after?.issuedAt.milliseconds ?? Int64.max), .text(after?.productID ?? ""), .integer(withDrafts ? 1 : 0),
            .integer(Int64(limit)),
        ]
        return try transaction.rows(list, values).map(edition)
    }

    private static func state(_ text: String) throws -> Product.State {
        guard let state = Product.State(rawValue: text) else {
            throw ServerError(.home, "an edition has a state that this version does not know")
        }
        return state
    }

    private static func protection(_ row: Row) throws -> Edition.Protection {
        guard let licensed = Edition.Licensed(rawValue: try row.text(22)) else {
            throw ServerError(.home, "an edition is licensed in a way that this version does not know")
        }
        var protection = Edition.Protection(licensed)
        protection.keyNumber = Int(try row.integer(23))
        protection.keyBlob = try row.textIfPresent(24)
        if let blob = try row.textIfPresent(25), let file = try row.textIfPresent(26) { protection.tags = (blob, file) }
        return protection
    }

    static func edition(_ row: Row) throws -> Edition {
        guard let price = Edition.Price(rawValue: try row.text(10)) else {
            throw ServerError(.home, "an edition has a price that this version does not know")
        }
        return Edition(
            title: try TitleStore.title(row),
            productID: try row.text(9),
            price: price,
            state: try state(try row.text(11)),
            issuedAt: try row.instant(12),
            publishedAt: try row.instantIfPresent(13),
            withdrawnAt: try row.instantIfPresent(14),
            updatedAt: try row.instant(15),
            contentAt: try row.instant(16),
            byteCount: try row.integer(17),
            entry: try row.text(18),
            resourceCount: Int(try row.integer(19)),
            sampleCount: Int(try row.integer(20)),
            mediaBlob: try row.text(21),
            protection: try protection(row)
        )
    }
}
