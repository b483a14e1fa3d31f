// SPDX-License-Identifier: Apache-2.0

import CarrelFoundation
import CarrelPublication
import FoundationEssentials

/// The cover of the book at a URL, as data for an image view.
func coverData(at url: URL) async throws -> Data? {
    let publication = try await Streamer(onAskCredentials: nil)
        .open(asset: PublicationAsset(url), allowUserInteraction: false)
    defer { publication.close() }
    return try await publication.cover().map { Data($0.bytes) }
}

/// The whole of a resource of at most 1 MiB.
func data(of href: String, in publication: Publication) async throws -> Data {
    let resource = publication.get(href)
    defer { resource.close() }
    return try await resource.readData(upTo: 1 << 20)
}
