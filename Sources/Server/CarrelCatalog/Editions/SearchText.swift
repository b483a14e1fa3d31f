// SPDX-License-Identifier: Apache-2.0

import CarrelWorks

/// The texts of an edition that a search looks through, in lower case.
package struct SearchText {
    let title: String
    let author: String
    /// Everything that can be found.
    let text: String
    /// The main part of its language tag, such as `en`; empty if there is none.
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

    /// Normalizes search words: lower case, at most 100 characters.
    package static func wanted(_ words: String) -> String {
        var out = String.UnicodeScalarView()
        out.append(contentsOf: words.lowercased().unicodeScalars.prefix(100))
        return String(out)
    }

    /// A pattern for `LIKE … ESCAPE '!'` that finds what ``wanted(_:)`` returned wherever it stands; empty finds everything.
    package static func pattern(_ wanted: String) -> String {
        var out = "%"
        for character in wanted.unicodeScalars {
            if character == "%" || character == "_" || character == "!" { out += "!" }
            out.unicodeScalars.append(character)
        }
        return out == "%" ? "%" : out + "%"
    }
}
