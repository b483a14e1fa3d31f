// SPDX-License-Identifier: Apache-2.0

import CarrelContentKeys
import CarrelMedia
import CarrelPlayer
import CarrelVault
import Glibc

/// An app's use of content-key sessions in a folder without a player, without requests to a server.
@main
struct SavedKeysApp {
    static func main() async throws {
        let folder = CommandLine.arguments[1] + "/saved"
        mkdir(folder, 0o700)
        let vault = try await Vault.file(folder: folder + "/vault", passphrase: "correct horse", create: true)
        let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Saved", build: "1"))
        let session = ContentKeySession(engine)
        guard let key = ContentKeyIdentifier("skd://9eb4050d-e44b-4802-932e-27d75083e266:000102030405060708090A0B0C0D0E0F") else {
            return
        }
        do throws(ContentKeyError) {
            try await session.persist([key], item: "film")
        } catch {
            print(error.code, error.key ?? "")
        }
        print(try await engine.savedKeyState(of: "film").keys)
        await session.end()
        await engine.shutdown()
    }
}
