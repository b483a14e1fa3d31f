// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelPublication
import CarrelReader

/// The pasteboard of the manual's examples.
struct Pasteboard {
    private(set) var texts: [String] = []

    mutating func add(_ text: String) { texts.append(text) }
}

/// The first example of the manual; the publication is at `path`.
func openPublication(
    at path: String,
    copying selection: String,
    to pasteboard: inout Pasteboard,
    askTheUser: @escaping @Sendable (Dialog<String>) async -> String?
) async throws -> (navigator: Navigator, bytes: [UInt8]) {
    let streamer = Streamer(onAskCredentials: { dialog, sender in await askTheUser(dialog) })
    let publication = try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: true)
    let navigator = try Navigator(publication)  // throws for a restricted publication
    let chapter = publication.get(publication.readingOrder[0])
    let bytes = try await chapter.read(0..<65_536)
    if await publication.rights.copy(selection) { pasteboard.add(selection) }
    return (navigator, bytes)
}

/// A streamer with the protection of the manual.
func signInStreamer(_ name: String, _ subscription: SubscriptionClient, _ client: HTTPClient) -> Streamer {
    let protection = SignInProtection(server: "https://books.example", account: name, subscription: subscription, client: client)
    let streamer = Streamer(contentProtections: [protection])
    return streamer
}
