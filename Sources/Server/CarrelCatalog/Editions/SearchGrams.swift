// SPDX-License-Identifier: Apache-2.0

/// The index terms of a text: every run of one, two and three characters of each of its words.
///
/// A word is found anywhere inside another one (`bahn` in `Eisenbahn`), and text without spaces (Chinese, Japanese) needs no
/// dictionary: a text that contains a word contains all its runs. Both engines use the same runs, so that both find the same.
package enum SearchGrams {
    /// Grows whenever the runs of the same text become others; editions with an older number are indexed again.
    static let version: Int64 = 1

    private static let longest = 3
    /// The maximum number of different runs of one text. A text of more than about 15,000 characters is found by its first runs
    /// only.
    private static let limit = 40_000
    /// The maximum number of runs of one word in an index query; the results are then compared with the whole word.
    private static let queryLimit = 16

    /// The runs of a text in lower case, separated by spaces.
    package static func index(_ text: String) -> String {
        var seen: Set<[Unicode.Scalar]> = []
        var out = String.UnicodeScalarView()
        for word in words(of: text) {
            for length in 1...longest where length <= word.count {
                for start in 0...(word.count - length) where seen.count < limit {
                    let run = Array(word[start..<start + length])
                    if seen.insert(run).inserted { append(run, to: &out) }
                }
            }
        }
        return String(out)
    }

    /// The runs that a text must have to hold all of these words in lower case, separated by spaces; empty if there is no word.
    static func query(_ texts: [String]) -> String {
        var seen: Set<[Unicode.Scalar]> = []
        var out = String.UnicodeScalarView()
        for word in texts.flatMap(words) {
            let length = min(longest, word.count)
            for start in (0...(word.count - length)).prefix(queryLimit) {
                let run = Array(word[start..<start + length])
                if seen.insert(run).inserted { append(run, to: &out) }
            }
        }
        return String(out)
    }

    private static func words(of text: String) -> [[Unicode.Scalar]] {
        text.unicodeScalars.split { $0.properties.isWhitespace }.map { Array($0) }
    }

    /// Both engines keep letters, digits and all non-ASCII characters unchanged; others are mapped to the private use area.
    private static func append(_ run: [Unicode.Scalar], to out: inout String.UnicodeScalarView) {
        if !out.isEmpty { out.append(" ") }
        for scalar in run {
            let isPlain = !scalar.isASCII || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            out.append(isPlain ? scalar : Unicode.Scalar(0xE000 + scalar.value) ?? scalar)
        }
    }
}
