// SPDX-License-Identifier: Apache-2.0

import CarrelTimedText
import Testing

struct `Language tags` {
    @Test(arguments: [
        ("eng", "en"), ("ENG", "en"), ("ger", "de"), ("deu-AT", "de-AT"), ("zh_Hant", "zh-Hant"), ("en-GB", "en-GB"),
        ("und", "und"),
        ("haw", "haw"), ("", ""), ("cat", "ca"), ("per", "fa"), ("fas", "fa"), ("baq", "eu"), ("eus", "eu"), ("nno", "nn"),
        ("hye", "hy"),
    ])
    func `have the shortest code for their language`(tag: String, canonical: String) {
        #expect(LanguageTag.canonical(tag) == canonical)
    }

    @Test(
        arguments: [
            ("es", "spa", 0), ("spa", "es", 0), ("en", "eng", 0), ("nl", "dut", 0), ("ja", "jpn", 0), ("sv", "swe", 0),
            ("zh", "chi", 0),
            ("ar", "arm", nil), ("es", "eng", nil), ("en", "en-GB", 1), ("en-GB", "en", 2), ("en-US", "en-GB", 3),
            ("de", "den", nil),
        ] as [(String, String, Int?)]
    )
    func `are compared by language, then by what else they say`(wanted: String, tag: String, rank: Int?) {
        #expect(LanguageTag.rank(of: tag, preferred: wanted) == rank)
    }
}
