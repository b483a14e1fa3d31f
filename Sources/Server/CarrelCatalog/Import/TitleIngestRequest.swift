// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
package import CarrelIngest
import CarrelJSON
import CarrelPackager
package import CarrelStore
import CarrelWebAPI
package import CarrelWorks

/// The request of an ingest to the process that has the database: first the source with its metadata; then, if the catalog
/// does not know the source, the result. The blobs are already in the home.
package struct TitleIngestRequest: Sendable {
    /// SHA-256 over the source.
    package let sourceHash: [UInt8]
    /// Metadata that overrides the source's metadata.
    package let overrides: MetadataOverrides
    /// Whether a title with an ISBN that another has is refused.
    package let isStrict: Bool
    /// An image that replaces the source's own.
    package let cover: (blob: BlobID, mediaType: String)?
    /// The result of the ingest; nil looks the source up in the catalog.
    package let made: IngestedTitle?

    /// Bytes of its JSON at most.
    static let limit = 16 << 20

    /// - Parameters:
    ///   - sourceHash: SHA-256 over the source.
    ///   - overrides: metadata that overrides the source's.
    ///   - isStrict: whether to refuse a title with an ISBN that another title has.
    ///   - cover: an image that replaces the source's own.
    ///   - made: the result; nil to look the source up in the catalog.
    package init(
        sourceHash: [UInt8],
        overrides: MetadataOverrides,
        isStrict: Bool = false,
        cover: (blob: BlobID, mediaType: String)? = nil,
        made: IngestedTitle? = nil
    ) {
        self.sourceHash = sourceHash
        self.overrides = overrides
        self.isStrict = isStrict
        self.cover = cover
        self.made = made
    }

    package func write() -> [UInt8] {
        var head: JSONObject = [
            "sourceHash": .string(Hex.encode(sourceHash)), "overrides": .init(overrides), "cover": .init(cover),
            "made": made.map(Self.json) ?? .null,
        ]
        if isStrict { head["strict"] = true }
        return JSON.object(head).write()
    }

    /// - Parameter bytes: the output of ``write()``.
    /// - Throws: ``ServerError`` `invalid` for anything else.
    package init(parsing bytes: [UInt8]) throws {
        let object = try Self.object(bytes)
        try object.allowOnly(["sourceHash", "overrides", "strict", "cover", "made"])
        let hash = try object.digest("sourceHash")
        self.init(
            sourceHash: hash,
            overrides: try object.overrides("overrides"),
            isStrict: try object.flag("strict") ?? false,
            cover: try object.cover("cover"),
            made: try object.part("made").map { try Self.made($0, of: hash) }
        )
    }

    private static func object(_ bytes: [UInt8]) throws(ServerError) -> JSONObject {
        guard let object = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: limit)).object else {
            throw ServerError(.invalid, "the body must be a JSON object")
        }
        return object
    }

    private static func json(_ made: IngestedTitle) -> JSON {
        [
            "metadata": .object(made.metadata.json), "media": .string(made.media.text),
            "index": .string(Base64.encode(made.index.serialized())), "cover": .init(made.cover),
            "sample": made.sample.map { ["blob": .string($0.blob.text), "milliseconds": .integer($0.durationMS)] } ?? .null,
        ]
    }

    private static func made(_ object: JSONObject, of sourceHash: [UInt8]) throws -> IngestedTitle {
        try object.allowOnly(["metadata", "media", "index", "cover", "sample"])
        guard let serialized = Base64.decode(try object.requiredString("index")),
            let index = try? SegmentIndex(serialized: serialized.rawSpan)
        else { throw ServerError(.invalid, "index must be a segment index") }
        return IngestedTitle(
            metadata: try TitleMetadata(json: try object.requiredPart("metadata")),
            sourceHash: sourceHash,
            media: try object.blob("media"),
            index: index,
            cover: try object.cover("cover"),
            sample: try object.part("sample").map { (try $0.blob("blob"), try $0.length("milliseconds")) }
        )
    }
}
