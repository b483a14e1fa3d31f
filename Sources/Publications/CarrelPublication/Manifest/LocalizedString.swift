// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// A text in one or several languages.
public struct LocalizedString: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// One translation.
    public struct Translation: Sendable, Hashable {
        /// A BCP 47 tag; nil if it is not known.
        public let language: String?
        /// The text in ``language``; not empty.
        public let text: String

        /// Creates a translation.
        ///
        /// - Parameters:
        ///   - text: the text.
        ///   - language: a BCP 47 tag; nil if it is not known.
        public init(_ text: String, language: String? = nil) {
            self.text = text
            self.language = language
        }
    }

    /// At least one translation; the first is the preferred one.
    public let translations: [Translation]

    /// Creates a text of unknown language.
    ///
    /// - Parameter text: the text.
    public init(_ text: String) {
        translations = [Translation(text)]
    }

    public init(stringLiteral text: String) {
        self.init(text)
    }

    /// Creates a text in several languages.
    ///
    /// - Parameter translations: translations; the first of each language counts, and empty ones are ignored. Nil if none is
    ///   left.
    public init?(_ translations: [Translation]) {
        var seen: Set<String> = []
        self.translations = translations.filter { !$0.text.isEmpty && seen.insert($0.language ?? "und").inserted }
        if self.translations.isEmpty { return nil }
    }

    /// A string, or an object of strings by language.
    init?(_ json: JSON) {
        if let text = json.string {
            guard !text.isEmpty else { return nil }
            self.init(text)
        } else {
            let members = json.object.map(Array.init) ?? []
            self.init(
                members.compactMap { member in
                    member.value.string.map { Translation($0, language: member.name == "und" ? nil : member.name) }
                }
            )
        }
    }

    var json: JSON {
        if translations.count == 1, translations[0].language == nil { return .string(translations[0].text) }
        var object = JSONObject()
        for translation in translations { object[translation.language ?? "und"] = .string(translation.text) }
        return .object(object)
    }

    /// The text for a reader of a language: in that language, in a variant of it, without a language, or else the first.
    ///
    /// - Parameter language: a BCP 47 tag, such as `pt-BR`.
    /// - Returns: one of the translations.
    public func text(for language: String) -> String {
        let wanted = language.lowercased()
        let primary = wanted.prefix { $0 != "-" }
        let found =
            translations.first { $0.language?.lowercased() == wanted }
            ?? translations.first { ($0.language?.lowercased().prefix { $0 != "-" }) == primary }
            ?? translations.first { $0.language == nil }
        return (found ?? translations[0]).text
    }

    /// The first text.
    public var description: String { translations[0].text }
}
