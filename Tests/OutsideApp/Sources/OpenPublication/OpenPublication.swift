// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// Prints the title and the chapters of a publication, and the length of its first resource.
@main
struct OpenPublication {
    static func main() async throws {
        let streamer = Streamer(onAskCredentials: { await TerminalDialog.ask($0, $1) })
        let asset = PublicationAsset(path: CommandLine.arguments[1])
        let publication = try await streamer.open(asset: asset, allowUserInteraction: true)
        defer { publication.close() }
        print(publication.metadata.title)
        for chapter in publication.tableOfContents { print("-", chapter.title ?? chapter.href) }
        let first = publication.get(publication.readingOrder[0])
        print(try await first.length(), "bytes")
    }
}
