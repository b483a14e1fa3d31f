/// Language tags (BCP 47) of playlists, manifests and files.
package enum LanguageTag {
    /// Codes of three letters (ISO 639-2/T and /B) that have a shorter one (ISO 639-1), which RFC 5646 prefers.
    private static let shortCodes = [
        "ara": "ar", "bul": "bg", "ces": "cs", "cze": "cs", "dan": "da", "deu": "de", "ger": "de", "ell": "el", "gre": "el",
        "eng": "en", "spa": "es", "est": "et", "fin": "fi", "fra": "fr", "fre": "fr", "heb": "he", "hin": "hi", "hrv": "hr",
        "hun": "hu", "ind": "id", "isl": "is", "ice": "is", "ita": "it", "jpn": "ja", "kor": "ko", "lav": "lv", "lit": "lt",
        "nld": "nl", "dut": "nl", "nor": "no", "pol": "pl", "por": "pt", "ron": "ro", "rum": "ro", "rus": "ru", "slk": "sk",
        "slo": "sk", "slv": "sl", "srp": "sr", "swe": "sv", "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi", "zho": "zh",
        "chi": "zh",
    ]

    /// The shortest code for a language.
    package static func short(_ code: String) -> String { shortCodes[code] ?? code }

    /// A code of three letters for a track header.
    package static func long(_ code: String) -> String? {
        if code.utf8.count == 3 { return code }
        return shortCodes.keys.sorted().first { shortCodes[$0] == code }
    }

    /// A tag with the shortest code for its language, as RFC 5646 §4.5 wants it; other subtags stay.
    package static func canonical(_ tag: String) -> String {
        var subtags = tag.split(whereSeparator: { $0 == "-" || $0 == "_" }).map { String($0) }
        guard let first = subtags.first else { return tag }
        subtags[0] = short(first.lowercased())
        return subtags.joined(separator: "-")
    }

    /// The ranks of languages that are wanted.
    package static let ranks = 4

    /// How well a language is the one that is wanted.
    ///
    /// - Parameters:
    ///   - tag: the language.
    ///   - wanted: the language that is preferred.
    /// - Returns: 0 for the same one, 1 for a narrower one, such as `en-GB` for `en`, 2 for a wider one, 3 for another form of the language;
    ///   nil for another language.
    package static func rank(of tag: String, wanted: String) -> Int? {
        let (tag, wanted) = (canonical(tag).lowercased(), canonical(wanted).lowercased())
        if tag == wanted { return 0 }
        if tag.hasPrefix(wanted + "-") { return 1 }
        if wanted.hasPrefix(tag + "-") { return 2 }
        return tag.prefix { $0 != "-" } == wanted.prefix { $0 != "-" } ? 3 : nil
    }
}
