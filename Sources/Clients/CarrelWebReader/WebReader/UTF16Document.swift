// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads
import CarrelXML

/// Converts UTF-16 documents to UTF-8 before something is inserted.
enum UTF16Document {
    /// Bytes of a document at most.
    static let limit = 8 << 20

    private static let threads = BlockingThreadPool(name: "carrel-utf16", count: 1)

    /// Converts a document to UTF-8.
    ///
    /// - Parameter bytes: the whole document.
    /// - Returns: the document in UTF-8, with an XML encoding declaration changed to match; nil if it is not UTF-16.
    static func utf8(_ bytes: [UInt8]) async -> [UInt8]? {
        try? await threads.run {
            guard var decoder = UTF16Decoder(head: bytes) else { return nil }
            var text = Array(try decoder.decode(bytes.rawSpan).utf8)
            try decoder.finish()
            if let name = encodingName(in: text) { text.replaceSubrange(name, with: "UTF-8".utf8) }
            return text
        }
    }

    /// The name of the encoding in an XML declaration (XML 1.0, 4.3.3).
    private static func encodingName(in text: [UInt8]) -> Range<Int>? {
        guard text.starts(with: "<?xml".utf8), let end = text.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        let word = Array("encoding".utf8)
        guard let start = text[..<end].indices.first(where: { text[$0..<end].starts(with: word) }),
            let open = text[start..<end].firstIndex(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'") }),
            let close = text[(open + 1)..<end].firstIndex(of: text[open])
        else { return nil }
        return open + 1..<close
    }
}
