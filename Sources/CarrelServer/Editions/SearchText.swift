import CarrelAudio
import CarrelIngest

/// What a search looks through: texts in lower case.
struct SearchText {
    let title: String
    let author: String
    /// Everything that is said of it.
    let text: String
    /// The main part of its language tag, such as `en`; empty when there is none.
    let language: String

    init(_ metadata: TitleMetadata, productID: String) {
        title = [metadata.title, metadata.subtitle].compactMap(\.self).joined(separator: "\n").lowercased()
        author = metadata.authors.joined(separator: "\n").lowercased()
        let others = [
            metadata.publisher, metadata.description.map { String($0.prefix(2000)) }, metadata.isbn?.description, productID,
        ]
        text = ([title, author] + others.compactMap { $0?.lowercased() }).joined(separator: "\n")
        language = metadata.language.map { String($0.lowercased().prefix { $0 != "-" && $0 != "_" }.prefix(8)) } ?? ""
    }

    /// A pattern for `LIKE … ESCAPE '!'` that finds the words wherever they stand; empty finds everything.
    static func pattern(_ words: String) -> String {
        var out = "%"
        for character in words.lowercased().unicodeScalars.prefix(100) {
            if character == "%" || character == "_" || character == "!" { out += "!" }
            out.unicodeScalars.append(character)
        }
        return out == "%" ? "%" : out + "%"
    }
}
