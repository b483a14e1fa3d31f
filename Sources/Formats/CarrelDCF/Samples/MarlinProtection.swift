// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelMP4

/// The protection of a track of a Marlin file (an IPMP descriptor of type 0xA551, Marlin Core System Specification, file format
/// `MGSV`).
package struct MarlinProtection: Sendable, Hashable {
    /// The scheme: each sample is an initialization vector and AES-128-CBC with padding.
    package enum Scheme: Sendable, Hashable {
        /// Content keys are named by content id (`ACBC`).
        case contentKey
        /// Content keys are wrapped under a group key (`ACGK`).
        case groupKey
    }

    /// How the content key is found.
    package let scheme: Scheme
    /// The content id (`8id `).
    package let contentID: String
    /// The content key wrapped under the group key (`gkey`, RFC 3394); nil in the scheme `ACBC`.
    package let wrappedKey: [UInt8]?
    /// The box of signed attributes (`satr`), whole; empty if there is none.
    package let signedAttributes: [UInt8]
    /// HMAC-SHA-256 of the signed attributes under the content key (`hmac`).
    package let authenticator: [UInt8]?

    /// Reads a box `sinf`.
    ///
    /// - Parameters:
    ///   - box: the whole box.
    ///   - base: its offset in the file, for errors.
    /// - Throws: `Malformed` with the fault and its place.
    package init(_ box: RawSpan, base: Int = 0) throws(Malformed) {
        var scheme: Scheme?
        var information: (contentID: String?, wrappedKey: [UInt8]?, signed: [UInt8], tag: [UInt8]?) = (nil, nil, [], nil)
        var isFound = false
        try MemoryBoxList.forEach(in: box, base: base) { type, _, content, at throws(Malformed) in
            guard type == "sinf", !isFound else { return }
            isFound = true
            try MemoryBoxList.forEach(in: content, base: at) { type, _, content, at throws(Malformed) in
                switch type {
                case "schm": scheme = try Self.scheme(content, at)
                case "schi":
                    try MemoryBoxList.forEach(in: content, base: at) { type, box, content, at throws(Malformed) in
                        switch type {
                        case "8id ":
                            // ends with a NUL
                            let text = Array([UInt8](copying: content).prefix { $0 != 0 })
                            information.contentID = try OMAText.read(text.rawSpan, "content id", at: at)
                        case "gkey": information.wrappedKey = [UInt8](copying: content)
                        case "satr": information.signed = [UInt8](copying: box)
                        case "hmac":
                            guard content.byteCount == 32 else { throw Malformed("authenticator does not have 32 bytes", at: at) }
                            information.tag = [UInt8](copying: content)
                        default: break
                        }
                    }
                default: break
                }
            }
        }
        guard let scheme else { throw Malformed("descriptor has no scheme", at: base) }
        guard let contentID = information.contentID, !contentID.isEmpty else {
            throw Malformed("descriptor has no content id", at: base)
        }
        guard (scheme == .groupKey) == (information.wrappedKey != nil) else {
            throw Malformed("wrapped key and scheme contradict each other", at: base)
        }
        self.scheme = scheme
        self.contentID = contentID
        wrappedKey = information.wrappedKey
        signedAttributes = information.signed
        authenticator = information.tag
    }

    /// Reads a `schm` box with a 16-bit version.
    private static func scheme(_ content: RawSpan, _ at: Int) throws(Malformed) -> Scheme {
        guard content.byteCount >= 10 else { throw Malformed("scheme is cut off", at: at) }
        let type = FourCC(content.u32(at: 4))
        switch type {
        case "ACBC": return .contentKey
        case "ACGK": return .groupKey
        default: throw Malformed("scheme \(type) is unknown", at: at + 4)
        }
    }

    /// Checks that a key is the content key, as far as the track shows that.
    ///
    /// - Parameter key: a content key.
    /// - Throws: `integrity` if the signed attributes do not match.
    package func verify(_ key: Secret) throws(CryptoError) {
        guard let authenticator, !signedAttributes.isEmpty else { return }
        guard HMACSHA256(key: key).isValid(authenticator.rawSpan, for: signedAttributes.rawSpan) else {
            throw CryptoError(.integrity, "the signed attributes do not match the key: another key, or altered attributes")
        }
    }
}
