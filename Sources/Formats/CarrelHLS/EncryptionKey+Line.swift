// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

extension EncryptionKey {
    /// Reads one line of a playlist that names a key, leniently.
    ///
    /// - Parameter line: `#EXT-X-KEY:…` or `#EXT-X-SESSION-KEY:…`, or their attributes alone.
    /// - Returns: the key; nil if segments are clear (METHOD=NONE).
    /// - Throws: `Malformed` with the fault, at the offset of the line.
    package static func read(line: String) throws(Malformed) -> EncryptionKey? {
        var text = Substring(line)
        for tag in ["#EXT-X-KEY:", "#EXT-X-SESSION-KEY:"] where text.hasPrefix(tag) { text = text.dropFirst(tag.count) }
        let bytes = Array(text.utf8)
        var reader = AttributeReader(isLenient: true)
        do throws(AttributeFault) {
            let list = try reader.read(bytes.rawSpan, 0..<bytes.count).get()
            return try parse(list) { _, _ in true }.get()
        } catch {
            throw Malformed(error.what, at: 0)
        }
    }
}
