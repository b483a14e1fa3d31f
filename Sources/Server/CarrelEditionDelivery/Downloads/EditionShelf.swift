// SPDX-License-Identifier: Apache-2.0

package import CarrelCatalog
package import CarrelStore
import CarrelSubscription
import CarrelWebAPI

/// The editions that a reader may read, newest issue first, in pages.
package struct EditionShelf: Sendable {
    package struct Page: Sendable {
        package let editions: [Edition]
        /// From 1 on.
        package let number: Int
        /// Editions on a full page.
        package let size: Int
        /// Number of editions on all pages.
        package let total: Int

        package var last: Int { max(1, (total + size - 1) / size) }
    }

    let database: any Database
    let searches: CatalogSearches
    let readers: ReaderEntitlement

    package init(database: any Database, searches: CatalogSearches, readers: ReaderEntitlement) {
        self.database = database
        self.searches = searches
        self.readers = readers
    }

    /// A page of a reader's shelf.
    ///
    /// - Parameters:
    ///   - reader: the reader.
    ///   - number: the page, from 1; pages after the last are empty.
    ///   - size: editions on a page.
    ///   - words: only editions that contain all these words; nil: all editions.
    /// - Returns: nil if no source knows the reader anymore.
    /// - Throws: the database's error, or an unreachable source's.
    package func page(
        of reader: ReaderEntitlement.Reader,
        _ number: Int,
        size: Int,
        words: String? = nil
    ) async throws -> Page? {
        guard var products = try await readers.products(for: reader) else { return nil }
        if let words, EditionSearch(words: words).hasWords {
            let found = try await searches.run { try EditionStore.products(withWords: words, in: $0) }
            if let found { products = products.filter { found.contains($0.id) } }
        }
        let wanted = products.dropFirst((number - 1) * size).prefix(size).map(\.id)
        let editions = try await database.read { transaction in
            try wanted.compactMap { try EditionStore.edition(product: $0, in: transaction) }
        }
        return Page(editions: editions.filter { $0.state == .published }, number: number, size: size, total: products.count)
    }
}
