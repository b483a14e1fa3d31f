// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelHome
package import CarrelJSON
package import CarrelStore
import CarrelWebAPI
package import CarrelWorks

// The members that accessions share.
extension JSONObject {
    /// The 32 bytes of SHA-256 that a member spells.
    package func digest(_ name: String) throws(ServerError) -> [UInt8] {
        guard let digest = Hex.decode(try requiredString(name)), digest.count == 32 else {
            throw ServerError(.invalid, "\(name) must be a SHA-256 in hexadecimal")
        }
        return digest
    }

    package func blob(_ name: String) throws(ServerError) -> BlobID {
        guard let blob = BlobID(try requiredString(name)) else { throw ServerError(.invalid, "\(name) must be a blob id") }
        return blob
    }

    /// A whole number from 0.
    package func length(_ name: String) throws(ServerError) -> Int64 {
        guard let count = try count(name) else { throw ServerError(.invalid, "\(name) is missing") }
        return Int64(count)
    }

    /// An object, or nothing.
    package func part(_ name: String) throws(ServerError) -> JSONObject? {
        guard let value = self[name], value != .null else { return nil }
        guard let object = value.object else { throw ServerError(.invalid, "\(name) must be an object") }
        return object
    }

    package func requiredPart(_ name: String) throws(ServerError) -> JSONObject {
        guard let object = try part(name) else { throw ServerError(.invalid, "\(name) is missing") }
        return object
    }

    /// A picture that is in the home's blobs.
    package func cover(_ name: String) throws(ServerError) -> (blob: BlobID, mediaType: String)? {
        guard let object = try part(name) else { return nil }
        return (try object.blob("blob"), try object.requiredString("mediaType"))
    }

    /// The metadata that overrides a source's metadata.
    package func overrides(_ name: String) throws(ServerError) -> MetadataOverrides {
        var overrides = MetadataOverrides()
        guard let object = try part(name) else { return overrides }
        overrides.title = try object.string("title")
        overrides.subtitle = try object.string("subtitle")
        overrides.authors = try object.strings("authors") ?? []
        overrides.narrators = try object.strings("narrators") ?? []
        overrides.publisher = try object.string("publisher")
        overrides.language = try object.string("language")
        overrides.description = try object.string("description")
        if let text = try object.string("isbn") {
            guard let isbn = ISBN(text) else { throw ServerError(.invalid, "isbn is not an ISBN") }
            overrides.isbn = isbn
        }
        return overrides
    }
}

extension JSON {
    package init(_ overrides: MetadataOverrides) {
        self = [
            "title": .init(overrides.title), "subtitle": .init(overrides.subtitle),
            "authors": .array(overrides.authors.map { .string($0) }),
            "narrators": .array(overrides.narrators.map { .string($0) }), "publisher": .init(overrides.publisher),
            "language": .init(overrides.language), "description": .init(overrides.description),
            "isbn": .init(overrides.isbn?.description),
        ]
    }

    package init(_ cover: (blob: BlobID, mediaType: String)?) {
        self = cover.map { ["blob": .string($0.blob.text), "mediaType": .string($0.mediaType)] } ?? .null
    }
}
