import CarrelStore

/// Which editions are looked for: published ones that fit all that is said.
struct EditionSearch: Sendable, Equatable {
    /// Words anywhere.
    var words = ""
    /// Words of the title.
    var title = ""
    /// Words of an author's name.
    var author = ""
    var kind: Title.Kind?
    var price: Edition.Price?
    /// The main part of a language tag.
    var language: String?

    /// Words that are looked for one by one; the rest is passed over.
    private static let wordLimit = 4

    /// The first nine parameters of the statements.
    fileprivate var values: [SQLValue] {
        [
            .text(kind?.rawValue ?? ""), .text(price?.rawValue ?? ""), .text(language ?? ""),
            .text(SearchText.pattern(title)), .text(SearchText.pattern(author)),
        ] + Self.patterns(of: words)
    }

    /// The words as four parameters of a statement.
    fileprivate static func patterns(of words: String) -> [SQLValue] {
        var patterns = words.split(whereSeparator: \.isWhitespace).prefix(wordLimit).map { SearchText.pattern(String($0)) }
        while patterns.count < wordLimit { patterns.append("%") }
        return patterns.map { .text($0) }
    }

    /// How many editions there are of one kind, price and language.
    struct Count: Sendable, Equatable {
        let kind: Title.Kind
        let price: Edition.Price
        let language: String
        let count: Int
    }
}

extension EditionStore {
    /// The products of all published editions that have these words somewhere.
    static func products(withWords words: String, in transaction: any Transaction) throws -> Set<String> {
        Set(try transaction.rows(productsWithWords, EditionSearch.patterns(of: words)).map { try $0.text(0) })
    }

    /// A page of what was found, the newest issue first.
    static func editions(
        _ search: EditionSearch,
        limit: Int,
        offset: Int,
        in transaction: any Transaction
    ) throws -> [Edition] {
        try transaction.rows(Self.search, search.values + [.integer(Int64(limit)), .integer(Int64(offset))]).map(edition)
    }

    /// How many there are of each kind, price and language among what was found.
    static func counts(_ search: EditionSearch, in transaction: any Transaction) throws -> [EditionSearch.Count] {
        try transaction.rows(counts, search.values).compactMap {
            guard let kind = Title.Kind(rawValue: try $0.text(0)), let price = Edition.Price(rawValue: try $0.text(1)) else {
                return nil
            }
            return EditionSearch.Count(kind: kind, price: price, language: try $0.text(2), count: Int(try $0.integer(3)))
        }
    }
}
