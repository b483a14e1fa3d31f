// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelReader
import CarrelWebReader

/// Shows a book until `finish` returns; `show` gets the address to open in the user's browser.
func read(
    _ path: String,
    notesIn folder: String,
    show: (_ address: String) async throws -> Void,
    finish: () async throws -> Void
) async throws {
    let streamer = Streamer(onAskCredentials: nil)
    let publication = try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: true)
    defer { publication.close() }
    let reader = try await WebReader(publication, folder: folder)
    try await show(try reader.start())
    try await finish()
    await reader.stop()
}
