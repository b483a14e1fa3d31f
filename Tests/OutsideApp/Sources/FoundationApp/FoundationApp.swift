// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFoundation
import CarrelPublication
import FoundationEssentials

/// Opens a publication by its URL and keeps a place with Swift's encoder.
@main
struct FoundationApp {
    static func main() async throws {
        let asset = PublicationAsset(URL(filePath: CommandLine.arguments[1]))
        let publication = try await Streamer().open(asset: asset, allowUserInteraction: false)
        let place = publication.locate(publication.readingOrder[0])
        let kept = try JSONEncoder().encode(place)
        print(try JSONDecoder().decode(Locator?.self, from: kept) == place, Instant(Date(timeIntervalSince1970: 0)))
        print(try await publication.get(publication.readingOrder[0]).readData(upTo: 1 << 20).count)
    }
}
