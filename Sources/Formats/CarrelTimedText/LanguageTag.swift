// SPDX-License-Identifier: Apache-2.0

/// Language tags (BCP 47) of playlists, manifests and files.
package enum LanguageTag {
    /// Codes of three letters (ISO 639-2/T and /B) that have one of two letters (ISO 639-1), which RFC 5646 prefers.
    private static let shortCodes: [String: String] = [
        "aar": "aa", "abk": "ab", "afr": "af", "aka": "ak", "alb": "sq", "amh": "am", "ara": "ar", "arg": "an", "arm": "hy",
        "asm": "as", "ava": "av", "ave": "ae", "aym": "ay", "aze": "az", "bak": "ba", "bam": "bm", "baq": "eu", "bel": "be",
        "ben": "bn", "bih": "bh", "bis": "bi", "bod": "bo", "bos": "bs", "bre": "br", "bul": "bg", "bur": "my", "cat": "ca",
        "ces": "cs", "cha": "ch", "che": "ce", "chi": "zh", "chu": "cu", "chv": "cv", "cor": "kw", "cos": "co", "cre": "cr",
        "cym": "cy", "cze": "cs", "dan": "da", "deu": "de", "div": "dv", "dut": "nl", "dzo": "dz", "ell": "el", "eng": "en",
        "epo": "eo", "est": "et", "eus": "eu", "ewe": "ee", "fao": "fo", "fas": "fa", "fij": "fj", "fin": "fi", "fra": "fr",
        "fre": "fr", "fry": "fy", "ful": "ff", "geo": "ka", "ger": "de", "gla": "gd", "gle": "ga", "glg": "gl", "glv": "gv",
        "gre": "el", "grn": "gn", "guj": "gu", "hat": "ht", "hau": "ha", "heb": "he", "her": "hz", "hin": "hi", "hmo": "ho",
        "hrv": "hr", "hun": "hu", "hye": "hy", "ibo": "ig", "ice": "is", "ido": "io", "iii": "ii", "iku": "iu", "ile": "ie",
        "ina": "ia", "ind": "id", "ipk": "ik", "isl": "is", "ita": "it", "jav": "jv", "jpn": "ja", "kal": "kl", "kan": "kn",
        "kas": "ks", "kat": "ka", "kau": "kr", "kaz": "kk", "khm": "km", "kik": "ki", "kin": "rw", "kir": "ky", "kom": "kv",
        "kon": "kg", "kor": "ko", "kua": "kj", "kur": "ku", "lao": "lo", "lat": "la", "lav": "lv", "lim": "li", "lin": "ln",
        "lit": "lt", "ltz": "lb", "lub": "lu", "lug": "lg", "mac": "mk", "mah": "mh", "mal": "ml", "mao": "mi", "mar": "mr",
        "may": "ms", "mkd": "mk", "mlg": "mg", "mlt": "mt", "mon": "mn", "mri": "mi", "msa": "ms", "mya": "my", "nau": "na",
        "nav": "nv", "nbl": "nr", "nde": "nd", "ndo": "ng", "nep": "ne", "nld": "nl", "nno": "nn", "nob": "nb", "nor": "no",
        "nya": "ny", "oci": "oc", "oji": "oj", "ori": "or", "orm": "om", "oss": "os", "pan": "pa", "per": "fa", "pli": "pi",
        "pol": "pl", "por": "pt", "pus": "ps", "que": "qu", "roh": "rm", "ron": "ro", "rum": "ro", "run": "rn", "rus": "ru",
        "sag": "sg", "san": "sa", "sin": "si", "slk": "sk", "slo": "sk", "slv": "sl", "sme": "se", "smo": "sm", "sna": "sn",
        "snd": "sd", "som": "so", "sot": "st", "spa": "es", "sqi": "sq", "srd": "sc", "srp": "sr", "ssw": "ss", "sun": "su",
        "swa": "sw", "swe": "sv", "tah": "ty", "tam": "ta", "tat": "tt", "tel": "te", "tgk": "tg", "tgl": "tl", "tha": "th",
        "tib": "bo", "tir": "ti", "ton": "to", "tsn": "tn", "tso": "ts", "tuk": "tk", "tur": "tr", "twi": "tw", "uig": "ug",
        "ukr": "uk", "urd": "ur", "uzb": "uz", "ven": "ve", "vie": "vi", "vol": "vo", "wel": "cy", "wln": "wa", "wol": "wo",
        "xho": "xh", "yid": "yi", "yor": "yo", "zha": "za", "zho": "zh", "zul": "zu",
    ]

    /// The shortest code for a language.
    package static func short(_ code: String) -> String { shortCodes[code] ?? code }

    /// A code of three letters for a track header.
    package static func long(_ code: String) -> String? {
        if code.utf8.count == 3 { return code }
        return shortCodes.keys.sorted().first { shortCodes[$0] == code }
    }

    /// A tag with the shortest code for its language, as RFC 5646 §4.5 requires; other subtags are unchanged.
    package static func canonical(_ tag: String) -> String {
        var subtags = tag.split(whereSeparator: { $0 == "-" || $0 == "_" }).map { String($0) }
        guard let first = subtags.first else { return tag }
        subtags[0] = short(first.lowercased())
        return subtags.joined(separator: "-")
    }

    /// The number of ranks.
    package static let ranks = 4

    /// The rank of a language for a preferred one.
    ///
    /// - Parameters:
    ///   - tag: the language.
    ///   - preferred: the preferred language.
    /// - Returns: 0 for the same language, 1 for a narrower one, such as `en-GB` for `en`, 2 for a wider one, 3 for another form
    ///   of the language; nil for another language.
    package static func rank(of tag: String, preferred: String) -> Int? {
        let (tag, preferred) = (canonical(tag).lowercased(), canonical(preferred).lowercased())
        if tag == preferred { return 0 }
        if tag.hasPrefix(preferred + "-") { return 1 }
        if preferred.hasPrefix(tag + "-") { return 2 }
        return tag.prefix { $0 != "-" } == preferred.prefix { $0 != "-" } ? 3 : nil
    }
}
