// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelProxy

// The code of the product's catalog.

/// Plays a protected source with `show`, which gets the address for the player.
func play(_ source: String, keys: GivenKeys, show: (_ url: String) async throws -> Void) async throws {
    let proxy = try PlaylistProxy(expectedMajor: 1) { error in print(error.message, error.recommendation) }
    try proxy.start()
    let session = try proxy.makeURL(source, .dash, keys: keys)
    try await show(session.url)
    session.end()
    await proxy.stop()
}

/// Starts a session that plays audio in a language. Returns it with the languages that the source has.
func session(
    for source: String,
    in language: String,
    keys: GivenKeys,
    with proxy: PlaylistProxy
) async throws -> (session: PlaylistProxy.Session, languages: [String]) {
    var parameters = MediaSourceParameters()
    parameters.language = language
    let session = try proxy.makeURL(source, .dash, parameters, keys: keys)
    let summary = try await session.check()
    return (session, summary.audio.compactMap(\.language))
}

/// The state of a session as words for a status line.
func status(of session: PlaylistProxy.Session) -> String {
    let progress = session.progress()
    return "\(progress.segments) segments, \(progress.bytes) bytes, \(progress.buffered(at: .now)) buffered"
}

/// Redeems the token of an MS3 address at the app's own service, which responds with a key.
struct ShopRights: RightsSource {
    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer {
        do {
            let field = MediaHTTPField("Content-Type", "text/plain")
            let response = try await client.post(url.rightsURL, body: Array(url.token.utf8), fields: [field], limit: 1024)
            guard response.status == 200 else { return .refused("the shop has no rights for this token") }
            var keys = GivenKeys()
            keys.add(response.body, for: nil)
            return .granted(StreamRights(keys: keys, extensions: [.openOutput]))
        } catch {
            return .unavailable("the shop cannot be reached")
        }
    }
}
