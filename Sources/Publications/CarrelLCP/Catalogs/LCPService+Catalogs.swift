// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelXML

extension LCPService {
    /// Bytes of a catalog at most.
    public static let catalogSizeLimit = 8 << 20

    /// Stores the passphrase digests of a catalog of the user's loans (LCP automatic key retrieval 1.0), which accompany the
    /// acquisition links of OPDS 1 and OPDS 2. Publications with these passphrases then open without a prompt.
    ///
    /// - Parameter catalog: a feed or a publication, in XML or JSON; from a server that the user has signed in to.
    /// - Returns: the number of digests in the catalog.
    /// - Throws: `lcp.store`.
    @discardableResult
    public func addPassphrases(fromCatalog catalog: [UInt8]) async throws(LCPError) -> Int {
        let keys = CatalogPassphrases.all(in: catalog)
        try await passphrases.add(keys, of: PassphraseOwner())
        return keys.count
    }
}

/// The digests of passphrases in catalogs.
enum CatalogPassphrases {
    private static let namespace = "http://readium.org/lcp-specs/ns"
    /// The maximum number of digests read from one catalog.
    private static let limit = 500

    /// The digests in a catalog, each once; none unless the bytes are a catalog.
    static func all(in catalog: [UInt8]) -> [UserKey] {
        guard catalog.count <= LCPService.catalogSizeLimit else { return [] }
        var texts: [String] = []
        if let json = try? JSON.parse(catalog.rawSpan, limits: JSONLimits(byteCount: LCPService.catalogSizeLimit)) {
            collect(json, &texts)
        } else if let root = try? XMLElement.parse(catalog.rawSpan) {
            collect(root, &texts)
        }
        var keys: [UserKey] = []
        for key in texts.compactMap(key) where !keys.contains(key) && keys.count < limit { keys.append(key) }
        return keys
    }

    /// Decodes 32 bytes from base 64, or from base 16, which the specification uses in one place.
    private static func key(_ text: String) -> UserKey? {
        let text = text.filter { !$0.isWhitespace }
        return UserKey(hexDigest: text) ?? Base64.decode(text).flatMap { UserKey(digest: Secret($0)) }
    }

    /// OPDS 2: a property of a link.
    private static func collect(_ json: JSON, _ texts: inout [String]) {
        if let object = json.object {
            for (name, value) in object {
                if name == "lcp_hashed_passphrase", let text = value.string { texts.append(text) } else { collect(value, &texts) }
            }
        } else {
            for value in json.array ?? [] { collect(value, &texts) }
        }
    }

    /// OPDS 1: an element in an acquisition link.
    private static func collect(_ element: XMLElement, _ texts: inout [String]) {
        if element.name.local == "hashed_passphrase", element.name.namespace == namespace { texts.append(element.text) }
        for child in element.children { collect(child, &texts) }
    }
}
