// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia

/// The names under which the license of a key may be stored.
package struct KeyNames {
    /// The content IDs of licenses that may have the key, the most specific first.
    let contents: [String]
    private let name: ContentKeyName
    /// The ID of the key, 32 hexadecimal digits; nil if its name has none.
    private let id: String?

    /// - Parameters:
    ///   - name: the name in the media.
    ///   - content: the content of the media, as the app names it; nil if it does not.
    init(_ name: ContentKeyName, content: String?) {
        self.name = name
        var contents: [String] = []
        switch name {
        case .id(let bytes): id = bytes.count == 16 ? Hex.encode(bytes) : nil
        case .content(let text), .group(let text), .address(let text):
            id = Self.keyID(in: text)
            if !text.isEmpty { contents.append(text) }
        // the format names neither content nor key; the app may
        case .track:
            id = nil
            if let content { contents.append(content) }
        @unknown default: id = nil
        }
        if let id { contents.append("urn:marlin:kid:\(id)") }
        self.contents = contents
    }

    /// The key of a license: by its ID, or the only key of a license that was found by its content.
    func key(of use: LicenseUse) -> String? {
        if let id { if use.keyIDs.contains(id) { return id } }
        let isFound = contents.contains(use.contentID) || contents.contains(use.licensedContent)
        guard use.keyIDs.count == 1, isFound else { return nil }
        switch name {
        // the license has another key than the one that the media name
        case .id: return nil
        default: return use.keyIDs[0]
        }
    }

    private static let prefixes = ["urn:marlin:kid:", "urn:uuid:", "uuid:", "cid:", "skd://", "kid:"]

    /// The key ID in an alias such as `urn:marlin:kid:…`, `urn:uuid:…`, `cid:…` or `skd://…`; nil if it has none.
    package static func keyID(in text: String) -> String? {
        let lower = text.lowercased()
        guard let prefix = prefixes.first(where: { lower.hasPrefix($0) }) else { return nil }
        let rest = lower.dropFirst(prefix.count)
        let whole = rest.filter { $0 != "-" }
        if isKeyID(whole) { return whole }
        // as our packager names contents by their key
        let start = String(rest.prefix { $0.isHexDigit })
        return isKeyID(start) ? start : nil
    }

    private static func isKeyID(_ text: String) -> Bool {
        text.utf8.count == 32 && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}
