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
