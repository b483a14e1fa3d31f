// SPDX-License-Identifier: Apache-2.0

import CarrelLicenseKeys
import CarrelLicensedPublications
import CarrelMedia
import CarrelPlayer
import CarrelPublication
import CarrelRights
import CarrelVault

/// Opens a book under a license of the player in a folder, and shows what the signatures of the product name.
@main
struct LicensedBookApp {
    static func main() async throws {
        let (folder, passphrase, path) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
        let protection = LicensedContentProtection(obligations: LicensedContentProtection.countedRights) {
            let vault = try await Vault.file(folder: "\(folder)/vault", passphrase: passphrase, create: false)
            return try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Reader", build: "1"))
        }
        let streamer = Streamer(contentProtections: [protection])
        let book = try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: false)
        let service = book.findService(LicensedContentProtectionService.self)
        print(book.metadata.title, service?.license ?? "", service?.contentID ?? "", book.protectionErrorMessage ?? "open")
        if !book.isRestricted {
            print(try await book.get(book.readingOrder[0]).length(), await book.allowsExport(), book.watermark ?? "")
            let source = ResourceSource(book.get(book.readingOrder[0]))
            print(try await source.open().length, book.endReason ?? "")
        }
        book.close()
    }
}
