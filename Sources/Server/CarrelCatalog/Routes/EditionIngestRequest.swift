// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
package import CarrelIngest
import CarrelJSON
package import CarrelStore
import CarrelWebAPI
import CarrelWorks

/// The result of ingesting an edition, for the process that has the database; the counterpart of ``TitleIngestRequest``.
///
/// An edition may be made of thousands of resources, so it is written as lines of JSON: the first describes the edition, and each
/// further line a resource.
package struct EditionIngestRequest: Sendable {
    /// SHA-256 over the source.
    package let sourceHash: [UInt8]
    package let terms: Edition.Terms
    /// The edition's metadata, and which of its resources are free.
    package let options: EditionOptions
    /// An image that replaces the source's own.
    package let cover: (blob: BlobID, mediaType: String)?
    /// The result of the ingest; nil looks the source up in the catalog.
    package let made: IngestedEdition?

    /// Bytes of its lines at most.
    static let limit = 64 << 20

    /// - Parameters:
    ///   - sourceHash: SHA-256 over the source.
    ///   - terms: its price, state and dates.
    ///   - options: its metadata.
    ///   - cover: an image that replaces the source's own.
    ///   - made: the result; nil to look the source up in the catalog.
    package init(
        sourceHash: [UInt8],
        terms: Edition.Terms,
        options: EditionOptions,
        cover: (blob: BlobID, mediaType: String)? = nil,
        made: IngestedEdition? = nil
    ) {
        self.sourceHash = sourceHash
        self.terms = terms
        self.options = options
        self.cover = cover
        self.made = made
    }

    package func write() -> [UInt8] {
        let head: JSON = [
            "sourceHash": .string(Hex.encode(sourceHash)), "productId": .string(terms.productID),
            "price": .init(terms.price?.rawValue), "licensed": .init(terms.licensed?.rawValue), "draft": .bool(terms.isDraft),
            "issuedAt": .init(terms.issuedAt),
            "publishedAt": .init(terms.publishedAt), "samples": .array(options.samples.map { .string($0) }),
            "overrides": .init(options.overrides), "cover": .init(cover), "made": made.map(Self.json) ?? .null,
        ]
        var lines = head.write()
        for resource in made?.resources ?? [] {
            lines.append(UInt8(ascii: "\n"))
            lines += Self.json(resource).write()
        }
        return lines
    }

    /// - Parameter bytes: the output of ``write()``.
    /// - Throws: ``ServerError`` `invalid` for anything else.
    package init(parsing bytes: [UInt8]) throws {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let object = try Self.object(lines[0])
        try object.allowOnly([
            "sourceHash", "productId", "price", "licensed", "draft", "issuedAt", "publishedAt", "samples", "overrides", "cover",
            "made",
        ])
        sourceHash = try object.digest("sourceHash")
        var terms = Edition.Terms(productID: try object.requiredString("productId"))
        terms.price = try EditionRoutes.price(try object.string("price"))
        terms.licensed = try EditionRoutes.licensed(try object.string("licensed"))
        terms.isDraft = try object.flag("draft") ?? false
        terms.issuedAt = try object.instant("issuedAt")
        terms.publishedAt = try object.instant("publishedAt")
        self.terms = terms
        var options = EditionOptions(productID: terms.productID)
        options.samples = try object.strings("samples") ?? []
        options.overrides = try object.overrides("overrides")
        self.options = options
        cover = try object.cover("cover")
        let resources = try lines.dropFirst().map { try Self.resource(try Self.object($0)) }
        let hash = sourceHash
        made = try object.part("made").map { try Self.made($0, resources, of: hash) }
        guard made != nil || resources.isEmpty else { throw ServerError(.invalid, "resources need \"made\"") }
    }

    private static func object(_ line: ArraySlice<UInt8>) throws(ServerError) -> JSONObject {
        let bytes = Array(line)
        guard let object = try? JSON.parse(bytes.rawSpan).object else {
            throw ServerError(.invalid, "each line of the body should be a JSON object")
        }
        return object
    }

    private static func json(_ made: IngestedEdition) -> JSON {
        [
            "kind": .string(made.kind.rawValue), "metadata": .object(made.metadata.json), "media": .string(made.media.text),
            "bytes": .integer(made.byteCount), "entry": .string(made.entry), "cover": .init(made.cover),
        ]
    }

    private static func json(_ resource: EditionResource) -> JSON {
        [
            "path": .string(resource.path), "mediaType": .string(resource.mediaType), "offset": .integer(resource.offset),
            "bytes": .integer(resource.byteCount), "digest": .string(resource.digest), "sample": .bool(resource.isSample),
            "changedAt": .init(resource.changedAt),
        ]
    }

    private static func made(_ object: JSONObject, _ resources: [EditionResource], of hash: [UInt8]) throws -> IngestedEdition {
        try object.allowOnly(["kind", "metadata", "media", "bytes", "entry", "cover"])
        guard let kind = EditionKind(rawValue: try object.requiredString("kind")) else {
            throw ServerError(.invalid, "unknown kind")
        }
        let (entry, byteCount) = (try object.requiredString("entry"), try object.length("bytes"))
        guard resources.contains(where: { $0.path == entry }) else {
            throw ServerError(.invalid, "entry must be the path of a resource")
        }
        for resource in resources where resource.offset > byteCount - resource.byteCount {
            throw ServerError(.invalid, "the resource \(resource.path) is outside the media")
        }
        return IngestedEdition(
            kind: kind,
            metadata: try TitleMetadata(json: try object.requiredPart("metadata")),
            sourceHash: hash,
            media: try object.blob("media"),
            byteCount: byteCount,
            entry: entry,
            resources: resources,
            cover: try object.cover("cover")
        )
    }

    private static func resource(_ object: JSONObject) throws(ServerError) -> EditionResource {
        try object.allowOnly(["path", "mediaType", "offset", "bytes", "digest", "sample", "changedAt"])
        let path = try object.requiredString("path")
        if let fault = EditionResource.fault(inPath: path) { throw ServerError(.invalid, "the path of a resource \(fault)") }
        return EditionResource(
            path: path,
            mediaType: try object.requiredString("mediaType"),
            offset: try object.length("offset"),
            byteCount: try object.length("bytes"),
            digest: try object.requiredString("digest"),
            changedAt: try object.instant("changedAt") ?? Instant(milliseconds: 0),
            isSample: try object.flag("sample") ?? false
        )
    }
}
