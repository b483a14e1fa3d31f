// SPDX-License-Identifier: Apache-2.0

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
        /// Parts of samples in AES-128-CBC; in fragmented MP4 the scheme `cbcs`.
        package static let sampleAES = Method(rawValue: "SAMPLE-AES")
        /// Samples of fragmented MP4 by the scheme `cenc` (draft-pantos-hls-rfc8216bis §4.4.4.4).
        package static let sampleAESCTR = Method(rawValue: "SAMPLE-AES-CTR")
        /// Whole segments in AES-256-CBC with PKCS#7 padding; in use, and in no specification.
        package static let aes256 = Method(rawValue: "AES-256")
        /// Whole segments in AES-256-CTR; in use, and in no specification.
        package static let aes256CTR = Method(rawValue: "AES-256-CTR")
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
    /// Attributes that are not of the specification, such as Marlin's `CID`.
    package var otherAttributes = AttributeList()

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

    /// The effective key line of a segment: the first one for this project's key systems or, if all are for other systems, the first
    /// one.
    ///
    /// - Parameter lines: all key lines of the segment.
    /// - Returns: nil if there is none.
    package static func effective(of lines: [EncryptionKey]) -> EncryptionKey? {
        let isPlain = { (line: EncryptionKey) in line.keyFormat == nil || line.keyFormat?.lowercased() == "identity" }
        return lines.first { $0.contentID != nil || isPlain($0) } ?? lines.first
    }

    /// Marlin's content ID: the `CID` attribute, or `CID` in the query of `urn:marlin-drm?CID=…`.
    package var contentID: String? {
        if let value = otherAttributes["CID"] { return value.text }
        guard uri.hasPrefix("urn:marlin-drm?") else { return nil }
        return uri.split(separator: "?", maxSplits: 1).last?.split(separator: "&").first { $0.hasPrefix("CID=") }
            .map { String($0.dropFirst(4)) }
    }

    /// The names that ``attributes`` writes by itself.
    private static func isKnown(_ name: String) -> Bool {
        switch name {
        case "METHOD", "URI", "IV", "KEYFORMAT", "KEYFORMATVERSIONS": true
        default: false
        }
    }

    /// The attributes of the tag.
    var attributes: AttributeList {
        var list = AttributeList()
        list["METHOD"] = .bare(method.rawValue)
        list["URI"] = .quoted(uri)
        if let initializationVector { list["IV"] = .bare("0x" + Hex.encode(initializationVector)) }
        if let keyFormat { list["KEYFORMAT"] = .quoted(keyFormat) }
        if let keyFormatVersions { list["KEYFORMATVERSIONS"] = .quoted(keyFormatVersions) }
        for attribute in otherAttributes.attributes where !Self.isKnown(attribute.name) {
            list[attribute.name] = attribute.value
        }
        return list
    }

    /// Reads the attributes of the tag; nil means that segments are in the clear (METHOD=NONE).
    ///
    /// - Parameters:
    ///   - list: the attributes of the tag.
    ///   - tolerate: takes a breach that leaves the meaning plain, and returns false to refuse it.
    /// - Returns: the key, nil, or the fault.
    static func parse(
        _ list: AttributeList,
        tolerate: (PlaylistWarning.Code, String) -> Bool
    ) -> Result<EncryptionKey?, AttributeFault> {
        func text(_ name: String, _ fault: String) -> Result<String?, AttributeFault> {
            guard let value = list[name] else { return .success(nil) }
            if case .bare(let text) = value {
                return tolerate(.quotation, fault) ? .success(text) : .failure(AttributeFault(fault))
            }
            return .success(value.text)
        }
        guard let method = list["METHOD"]?.text, list.bare("METHOD") != nil || tolerate(.quotation, "method is a quoted string")
        else { return .failure(AttributeFault("key has no method")) }
        if method == "NONE" {
            guard list.attributes.count == 1 || tolerate(.keyNone, "method NONE has other attributes") else {
                return .failure(AttributeFault("method NONE has other attributes"))
            }
            return .success(nil)
        }
        do throws(AttributeFault) {
            guard let uri = try text("URI", "key has no URI").get(), !uri.isEmpty else { throw AttributeFault("key has no URI") }
            var key = EncryptionKey(method: Method(rawValue: method), uri: uri)
            if let value = list["IV"] { key.initializationVector = try vector(value, tolerate) }
            key.keyFormat = try text("KEYFORMAT", "key format is not a quoted string").get()
            key.keyFormatVersions = try text("KEYFORMATVERSIONS", "key format is not a quoted string").get()
            for attribute in list.attributes where !isKnown(attribute.name) {
                key.otherAttributes.append(attribute.name, attribute.value)
            }
            return .success(key)
        } catch {
            return .failure(error)
        }
    }

    /// A hexadecimal sequence of at most 128 bits, which zeros on the left complete.
    private static func vector(
        _ value: AttributeList.Value,
        _ tolerate: (PlaylistWarning.Code, String) -> Bool
    ) throws(AttributeFault) -> [UInt8] {
        let fault = AttributeFault("initialization vector is not hexadecimal")
        let text = value.text
        if case .quoted = value, !tolerate(.quotation, "initialization vector is a quoted string") { throw fault }
        let digits = text.utf8.span
        var first = 0
        if digits.count >= 2, digits[0] == UInt8(ascii: "0"), digits[1] | 0x20 == UInt8(ascii: "x") {
            first = 2
        } else {
            guard digits.count == 32, tolerate(.vectorPrefix, "initialization vector does not begin with 0x") else { throw fault }
        }
        let count = digits.count - first
        guard 1...32 ~= count else { throw fault }
        var bytes = [UInt8](repeating: 0, count: 16)
        for index in 0..<count {
            let digit = digits[digits.count - 1 - index]
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: throw fault
            }
            bytes[15 - index / 2] |= index % 2 == 0 ? value : value << 4
        }
        return bytes
    }
}
