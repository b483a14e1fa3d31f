// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelLCP
import CarrelPublication

/// Opens a publication, also one that Readium LCP protects, and shows what the signatures of the product name.
@main
struct PublicationApp {
    static func main() async throws {
        let folder = CommandLine.arguments[1]
        let service = LCPService(store: LCPStore(path: folder + "/licenses.sqlite"))
        let streamer = Streamer(
            contentProtections: [service.contentProtection()],
            opener: AssetOpener(headers: { () async throws(ResourceError) in ["Authorization": "Bearer x"] as HTTPFields })
        )
        let publication = try await streamer.open(asset: PublicationAsset(path: folder), allowUserInteraction: false)
        print(publication.metadata.title, publication.conforms(to: .epub), publication.landmarks.count)
        print(try await publication.get(publication.readingOrder[0]).readAsString().count)
        for try await locator in publication.search("whale") { print(locator.text.highlight ?? "") }
        let other: JSONObject = publication.metadata.otherMetadata
        let json: JSON = Positions.json(try await publication.positions())
        print(other.isEmpty, json["total"]?.int ?? 0, Instant(milliseconds: 0))
        print(await publication.rights.copy("words"), try await publication.lcpLicense?.charactersToCopyLeft ?? -1)
        publication.close()
    }
}
