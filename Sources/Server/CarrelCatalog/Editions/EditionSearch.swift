// SPDX-License-Identifier: Apache-2.0

package import CarrelStore

/// The criteria of a search for published editions.
package struct EditionSearch: Sendable, Equatable {
    /// Words anywhere.
    package var words = ""
    /// Words of the title.
    package var title = ""
    /// Words of an author's name.
    package var author = ""
    package var kind: Title.Kind?
    package var price: Edition.Price?
    /// The main part of a language tag.
    package var language: String?

    package init(
        words: String = "",
        title: String = "",
        author: String = "",
        kind: Title.Kind? = nil,
        price: Edition.Price? = nil,
        language: String? = nil
    ) {
        self.words = words
        self.title = title
        self.author = author
        self.kind = kind
        self.price = price
        self.language = language
    }

    /// The maximum number of words searched individually; the rest is ignored.
    private static let wordLimit = 4

    /// The number of editions of one kind, price and language.
    package struct Count: Sendable, Equatable {
        package let kind: Title.Kind
        package let price: Edition.Price
        package let language: String
        package let count: Int

        package init(kind: Title.Kind, price: Edition.Price, language: String, count: Int) {
            self.kind = kind
            self.price = price
            self.language = language
            self.count = count
        }
    }

    /// Whether texts are compared; without words a page is a part of everything.
    package var hasWords: Bool { !Wanted(self).grams.isEmpty }

    /// The texts of a search as the index and the statements take them.
    fileprivate struct Wanted {
        let words: [String]
        let title: String
        let author: String

        init(_ search: EditionSearch) {
            words = search.words.split(whereSeparator: \.isWhitespace).prefix(EditionSearch.wordLimit)
                .map { SearchText.wanted(String($0)) }
            title = SearchText.wanted(search.title)
            author = SearchText.wanted(search.author)
        }

        /// The runs of characters of all of them; empty if nothing but spaces is looked for.
        var grams: String { SearchGrams.query(words + [title, author]) }

        /// The parameters of the statement, after the runs of characters.
        var patterns: [SQLValue] {
            let words = words.map(SearchText.pattern)
            let all = [SearchText.pattern(title), SearchText.pattern(author)] + words
            return (all + [String](repeating: "%", count: EditionSearch.wordLimit - words.count)).map { .text($0) }
        }

        /// The words that decide which of two editions comes first.
        var ranking: [[UInt8]] {
            (words + title.split(whereSeparator: \.isWhitespace).map(String.init)).map { Array($0.utf8) }
        }
    }

    /// Whether an edition that the statement returned is one of those the client narrowed the search down to.
    fileprivate func fits(_ count: Count) -> Bool {
        (kind == nil || kind == count.kind) && (price == nil || price == count.price)
            && (language == nil || language == count.language)
    }
}

/// An edition that was found, and what decides its place among the others.
private struct FoundEdition {
    let title: String
    let productID: String
    let issuedAt: Int64
    let rank: Int

    static func precedes(_ one: FoundEdition, _ other: FoundEdition) -> Bool {
        if one.rank != other.rank { return one.rank < other.rank }
        if one.issuedAt != other.issuedAt { return one.issuedAt > other.issuedAt }
        return one.productID > other.productID
    }
}

extension EditionStore {
    /// The products of all published editions that have these words somewhere; nil if there is no word.
    package static func products(withWords words: String, in transaction: any Transaction) throws -> Set<String>? {
        var search = EditionSearch()
        search.words = words
        let wanted = EditionSearch.Wanted(search)
        let grams = wanted.grams
        guard !grams.isEmpty else { return nil }
        var products: Set<String> = []
        try transaction.each(found, [.text(grams)] + wanted.patterns) { products.insert(try $0.text(1)) }
        return products
    }

    /// Finds a page of editions, and the numbers of each kind, price and language without these filters.
    ///
    /// Editions with a title word that begins with the query come first, then editions whose titles contain it, then editions
    /// whose authors' names do; among equals the newest issue.
    package static func find(
        _ search: EditionSearch,
        limit: Int,
        offset: Int,
        in transaction: any Transaction
    ) throws -> (editions: [Edition], counts: [EditionSearch.Count]) {
        let wanted = EditionSearch.Wanted(search)
        let grams = wanted.grams
        if grams.isEmpty {
            return (try browse(search, limit: limit, offset: offset, in: transaction), try counts(in: transaction))
        }
        let ranking = wanted.ranking
        var editions: [FoundEdition] = []
        var groups: [[String]: Int] = [:]
        try transaction.each(found, [.text(grams)] + wanted.patterns) { row in
            let group = [try row.text(5), try row.text(6), try row.text(7)]
            groups[group, default: 0] += 1
            guard let count = EditionSearch.Count(group, 1), search.fits(count) else { return }
            let rank = SearchRank.rank(ranking, title: try row.text(3), author: try row.text(4))
            editions.append(
                FoundEdition(title: try row.text(0), productID: try row.text(1), issuedAt: try row.integer(2), rank: rank)
            )
        }
        editions.sort(by: FoundEdition.precedes)
        let page = try editions.dropFirst(offset).prefix(limit).compactMap { try edition(title: $0.title, in: transaction) }
        let counts = groups.compactMap { EditionSearch.Count($0.key, $0.value) }
        return (page, counts.sorted { $0.order.lexicographicallyPrecedes($1.order) })
    }

    /// A page of everything, the newest issue first.
    private static func browse(
        _ search: EditionSearch,
        limit: Int,
        offset: Int,
        in transaction: any Transaction
    ) throws -> [Edition] {
        let values: [SQLValue] = [
            .text(search.kind?.rawValue ?? ""), .text(search.price?.rawValue ?? ""), .text(search.language ?? ""),
            .integer(Int64(limit)), .integer(Int64(offset)),
        ]
        return try transaction.rows(browse, values).map(edition)
    }

    private static func counts(in transaction: any Transaction) throws -> [EditionSearch.Count] {
        try transaction.rows(counts, []).compactMap {
            EditionSearch.Count([try $0.text(0), try $0.text(1), try $0.text(2)], Int(try $0.integer(3)))
        }
    }
}

extension EditionSearch.Count {
    /// Nil for a kind or a price that this version does not know.
    ///
    /// - Parameters:
    ///   - group: kind, price and language.
    ///   - count: editions.
    fileprivate init?(_ group: [String], _ count: Int) {
        guard let kind = Title.Kind(rawValue: group[0]), let price = Edition.Price(rawValue: group[1]) else { return nil }
        self.init(kind: kind, price: price, language: group[2], count: count)
    }

    fileprivate var order: [String] { [kind.rawValue, price.rawValue, language] }
}
