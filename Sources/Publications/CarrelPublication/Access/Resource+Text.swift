// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

extension Resource {
    /// Reads a document as text: UTF-8, or UTF-16 if it begins like UTF-16 (XML 1.0 appendix F). A byte order mark is omitted.
    ///
    /// - Parameter limit: the maximum number of bytes.
    /// - Returns: the text.
    /// - Throws: `resource.malformed` for other encodings, `resource.too-large` if it is longer; otherwise as `read(_:into:)`.
    public func readAsString(upTo limit: Int = 8 << 20) async throws(ResourceError) -> String {
        let bytes = try await read(upTo: limit)
        guard let text = String(document: bytes) else {
            throw ResourceError(.malformed, "\"\(link.href)\" is not text in UTF-8 or UTF-16")
        }
        return text
    }
}

extension String {
    /// - Parameter document: all bytes of a document in UTF-8 or UTF-16. Nil for anything else.
    init?(document: [UInt8]) {
        if var utf16 = UTF16Decoder(head: document) {
            guard let text = try? utf16.decode(document.rawSpan), (try? utf16.finish()) != nil else { return nil }
            self = text
        } else {
            let mark: [UInt8] = [0xef, 0xbb, 0xbf]
            self.init(validating: document.starts(with: mark) ? document[mark.count...] : document[...], as: UTF8.self)
        }
    }
}
