// SPDX-License-Identifier: Apache-2.0

/// Decides which of two editions that were found comes first.
enum SearchRank {
    /// The rank of an edition; a smaller rank comes first.
    ///
    /// - Parameters:
    ///   - words: the query in lower case.
    ///   - title: the edition's title and subtitle, in lower case.
    ///   - author: the names of its authors, in lower case.
    /// - Returns: the sum over all words: 0 if a word of the title begins with it, 1 if the title contains it, 2 if an author's
    ///   name does, and 3 if something else does.
    static func rank(_ words: [[UInt8]], title: String, author: String) -> Int {
        let (title, author) = (Array(title.utf8), Array(author.utf8))
        return words.reduce(0) { sum, word in
            switch place(of: word, in: title) {
            case .beginning: sum
            case .inside: sum + 1
            case nil: sum + (place(of: word, in: author) == nil ? 3 : 2)
            }
        }
    }

    private enum Place {
        case beginning, inside
    }

    private static func place(of word: [UInt8], in text: [UInt8]) -> Place? {
        guard let first = word.first, text.count >= word.count else { return nil }
        var found: Place?
        for start in 0...(text.count - word.count) where text[start] == first && text[start...].starts(with: word) {
            if start == 0 || separates(text[start - 1]) { return .beginning }
            found = .inside
        }
        return found
    }

    /// Whether a byte ends a word: any of ASCII but letters and digits.
    private static func separates(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            false
        default: byte < 0x80
        }
    }
}
