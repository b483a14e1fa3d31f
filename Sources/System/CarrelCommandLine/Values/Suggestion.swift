// SPDX-License-Identifier: Apache-2.0

/// Finds the word that was probably meant.
package enum Suggestion {
    /// The word nearest to `text`, or nil if none is near enough to be meant.
    package static func nearest(to text: String, among words: some Sequence<String>) -> String? {
        let text = Array(text.lowercased().utf8)
        guard !text.isEmpty else { return nil }
        let limit = max(1, (text.count + 1) / 3)
        var best: (word: String, distance: Int)?
        for word in words {
            let letters = Array(word.lowercased().utf8)
            guard abs(letters.count - text.count) <= limit else { continue }
            let edits = distance(text, letters)
            if edits <= limit, edits < best?.distance ?? Int.max { best = (word, edits) }
        }
        return best?.word
    }

    /// `did you mean 'order'?`, or nil if no word is near enough.
    package static func hint(for text: String, among words: some Sequence<String>) -> String? {
        nearest(to: text, among: words).map { "did you mean '\($0)'?" }
    }

    /// The number of letters to add, remove, change or swap with their neighbor (optimal string alignment).
    static func distance(_ from: [UInt8], _ to: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...to.count)
        for i in 0..<from.count {
            var row = [i + 1]
            for j in 0..<to.count {
                var cost = min(last[j] + (from[i] == to[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, from[i] == to[j - 1], from[i - 1] == to[j] { cost = min(cost, beforeLast[j - 1] + 1) }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[to.count]
    }
}
