// SPDX-License-Identifier: Apache-2.0

import CarrelLicenseKeys
import CarrelLicensedPublications
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelRights
import CarrelVault
import CarrelWebReader

/// The six steps from an app that starts for the first time to a book on the screen. Returns the decrypted bytes.
func readEbook(_ file: String, token: String, server: String, folder: String, vault: Vault, show: (String) async throws -> Void)
    async throws -> [UInt8]
{
    // 1. Initialize the engine.
    let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Reader", build: "1.0"))
    // 2. Get a unique player id, once.
    if await !engine.isPersonalized { try await engine.personalize(server: server) }
    // 3. Get a license for the book, and store it.
    try await engine.process(token)
    // 4. Open a media stream over the encrypted file.
    let stream = try await MediaStream.open(FileSource(path: file), as: .dcf(), keys: LicenseKeys(engine, action: .read))
    // 5. Read until there are no more bytes: the decrypted book.
    var book: [UInt8] = []
    while case let bytes = try await stream.read(upTo: 65_536), !bytes.isEmpty { book += bytes }
    // 6. Show it in a browser, under the same license: steps 4 and 5 are not needed for it.
    let protection = LicensedContentProtection(engine, obligations: LicensedContentProtection.shownRights)
    let publication = try await Streamer(contentProtections: [protection])
        .open(asset: PublicationAsset(path: file), allowUserInteraction: true)
    let reader = try await WebReader(publication, folder: "\(folder)/notes")
    try await show(try reader.start())
    await reader.stop()
    publication.close()
    return book
}
