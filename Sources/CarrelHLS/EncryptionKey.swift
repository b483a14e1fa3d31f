import CarrelBytes

/// How media segments are encrypted (RFC 8216 §4.3.2.4, the EXT-X-KEY tag).
package struct EncryptionKey: Sendable, Hashable {
    /// The method, by its name in playlists.
    package struct Method: RawRepresentable, Sendable, Hashable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Whole segments in AES-128-CBC with PKCS#7 padding.
        package static let aes128 = Method(rawValue: "AES-128")
        /// Parts of samples in AES-128-CBC.
        package static let sampleAES = Method(rawValue: "SAMPLE-AES")
    }

    package var method: Method
    /// The URI of the key.
    package var uri: String
    /// The initialization vector, 16 bytes; nil for the media sequence number (§5.2).
    package var initializationVector: [UInt8]?
    /// The format of the key; nil for `identity`, the 16 bytes themselves.
    package var keyFormat: String?
    /// Versions of the key format, such as `1/2/5`.
    package var keyFormatVersions: String?

    package init(
        method: Method = .aes128,
        uri: String,
        initializationVector: [UInt8]? = nil,
        keyFormat: String? = nil,
        keyFormatVersions: String? = nil
    ) {
        self.method = method
        self.uri = uri
        self.initializationVector = initializationVector
        self.keyFormat = keyFormat
        self.keyFormatVersions = keyFormatVersions
    }

    /// The attributes of the tag.
    var attributes: AttributeList {
        var list = AttributeList()
        list["METHOD"] = .bare(method.rawValue)
        list["URI"] = .quoted(uri)
        if let initializationVector { list["IV"] = .bare("0x" + Hex.encode(initializationVector)) }
        if let keyFormat { list["KEYFORMAT"] = .quoted(keyFormat) }
        if let keyFormatVersions { list["KEYFORMATVERSIONS"] = .quoted(keyFormatVersions) }
        return list
    }

    /// Reads the attributes of the tag; nil means that segments are in the clear (METHOD=NONE).
    static func parse(_ list: AttributeList) -> Result<EncryptionKey?, AttributeFault> {
        guard let method = list.bare("METHOD") else { return .failure(AttributeFault("key has no method")) }
        if method == "NONE" {
            guard list.attributes.count == 1 else { return .failure(AttributeFault("method NONE has other attributes")) }
            return .success(nil)
        }
        guard let uri = list.quoted("URI"), !uri.isEmpty else { return .failure(AttributeFault("key has no URI")) }
        var key = EncryptionKey(method: Method(rawValue: method), uri: uri)
        if let value = list["IV"] {
            guard case .bare(let text) = value, text.hasPrefix("0x") || text.hasPrefix("0X"), text.utf8.count <= 34 else {
                return .failure(AttributeFault("initialization vector is not hexadecimal"))
            }
            let digits = text.dropFirst(2)
            guard let bytes = Hex.decode(String(repeating: "0", count: 32 - digits.utf8.count) + digits), !digits.isEmpty else {
                return .failure(AttributeFault("initialization vector is not hexadecimal"))
            }
            key.initializationVector = bytes
        }
        for name in ["KEYFORMAT", "KEYFORMATVERSIONS"] where list[name] != nil && list.quoted(name) == nil {
            return .failure(AttributeFault("key format is not a quoted string"))
        }
        key.keyFormat = list.quoted("KEYFORMAT")
        key.keyFormatVersions = list.quoted("KEYFORMATVERSIONS")
        return .success(key)
    }
}
