// SPDX-License-Identifier: Apache-2.0

import CarrelLicenseKeys
import CarrelLicensedPublications
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelRights

/// Opens a protected book, or says why it stays closed.
func open(_ path: String, _ engine: PlayerEngine) async throws -> String {
    let streamer = Streamer(contentProtections: [LicensedContentProtection(engine)])
    let book = try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: true)
    defer { book.close() }
    if let reason = book.protectionErrorMessage { return "\(book.metadata.title): \(reason)" }
    return "\(book.metadata.title): \(book.readingOrder.count) parts"
}

/// Reads an encrypted entry of a container without opening the publication.
func entry(_ name: String, of path: String, _ engine: PlayerEngine) async throws -> [UInt8] {
    let source = try await ResourceSource(entry: name, of: PublicationAsset(path: path))
    let stream = try await MediaStream.open(source, as: .dcf(), keys: LicenseKeys(engine, action: .read))
    return try await stream.read(upTo: 65_536)
}
