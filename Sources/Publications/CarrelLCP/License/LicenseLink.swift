// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
public import CarrelPublication

/// A link of a license or status document (LCP 1.0 §3.4, LSD 1.0 §2.3).
public struct LicenseLink: Sendable, Equatable {
    /// Absolute; a URI template where ``isTemplated``.
    public let href: String
    /// Its relations to the license, such as `status`; extensions are URIs.
    public let relations: [String]
    /// The media type of the target; nil if it is not declared or malformed.
    public let mediaType: MediaType?
    /// The title of the target, for people.
    public let title: String?
    /// Whether ``href`` is a URI template (RFC 6570).
    public let isTemplated: Bool
    /// The URI of the profile of the linked license.
    public let profile: String?
    /// Bytes, as declared.
    public let length: LengthHint?
    /// The SHA-256 of the linked resource: 32 bytes.
    public let hash: [UInt8]?

    /// Nil for what has no address. A hash may be hexadecimal, as in every real license, or base 64, as in the specification.
    init?(_ json: JSON) {
        guard let href = json["href"]?.string, !href.isEmpty else { return nil }
        self.href = href
        let relation = json["rel"]
        relations = (relation?.string).map { [$0] } ?? (relation?.array ?? []).compactMap(\.string)
        mediaType = json["type"]?.string.flatMap { MediaType($0) }
        title = json["title"]?.string
        isTemplated = json["templated"]?.bool ?? false
        profile = json["profile"]?.string
        let length = (json["length"]?.int).map(Int64.init) ?? json["length"]?.string.flatMap { Int64($0) }
        self.length = length.flatMap { $0 >= 0 ? LengthHint($0) : nil }
        let hash = json["hash"]?.string
        self.hash = [hash.flatMap { Hex.decode($0) }, hash.flatMap { Base64.decode($0) }].compactMap(\.self).first {
            $0.count == 32
        }
    }
}

extension [LicenseLink] {
    /// The first link of a relation, preferring a media type if one is given.
    ///
    /// - Parameters:
    ///   - relation: the relation, such as `hint`.
    ///   - mediaType: the preferred media type; nil for any.
    /// - Returns: the link, or nil.
    public func first(withRelation relation: String, mediaType: MediaType? = nil) -> LicenseLink? {
        let all = filter { $0.relations.contains(relation) }
        return all.first { mediaType != nil && $0.mediaType?.essence == mediaType?.essence } ?? all.first
    }
}
