// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelJSON
import CarrelServer
import CarrelStore
package import CarrelWorks

extension TestService {
    /// Editions without content, by their product ids and with their titles.
    package func add(_ titles: [String: String]) async throws {
        let now = clock.now.milliseconds
        try await service.database.write { transaction in
            for (product, name) in titles {
                let title = Random.uuid()
                let metadata = String(decoding: JSON.object(["title": .string(name)]).write(), as: UTF8.self)
                try transaction.run(
                    Self.insertTitle,
                    [.text(title), .blob(Array(title.utf8)), .text(name), .text(metadata), .integer(now)]
                )
                try transaction.run(
                    Self.insertEdition,
                    [.text(title), .text(product), .integer(now), .text(""), .text(name), .text(""), .text(name)]
                )
            }
        }
        try await EditionIndex.complete(service.database)
    }

    private static let insertTitle = SQL(
        """
        INSERT INTO titles (id, kind, source_hash, title, metadata, duration_ms, media_blob, segment_index, created_at)
        VALUES ($1, 'edition', $2, $3, $4, 0, '', $2, $5)
        """
    )
    private static let insertEdition = SQL(
        """
        INSERT INTO editions (title_id, product_id, price, state, issued_at, published_at, updated_at, language,
            search_title, search_author, search_text)
        VALUES ($1, $2, 'paid', 'published', $3, $3, $3, $4, $5, $6, $7)
        """
    )

    /// An edition without content.
    package func add(product: String, metadata: TitleMetadata, issued: Int = 0) async throws {
        let (title, at) = (Random.uuid(), clock.now.milliseconds + Int64(issued) * 1000)
        var object: JSONObject = ["title": .string(metadata.title), "authors": .array(metadata.authors.map { .string($0) })]
        if let language = metadata.language { object["language"] = .string(language) }
        let text = String(decoding: JSON.object(object).write(), as: UTF8.self)
        let (name, authors) = (metadata.title.lowercased(), metadata.authors.joined().lowercased())
        let (language, search) = (String((metadata.language ?? "").prefix(2)), "\(name)\n\(authors)\n\(product)")
        try await service.database.write { transaction in
            try transaction.run(
                Self.insertTitle,
                [.text(title), .blob(Array(title.utf8)), .text(metadata.title), .text(text), .integer(at)]
            )
            try transaction.run(
                Self.insertEdition,
                [.text(title), .text(product), .integer(at), .text(language), .text(name), .text(authors), .text(search)]
            )
        }
        try await EditionIndex.complete(service.database)
    }
}
