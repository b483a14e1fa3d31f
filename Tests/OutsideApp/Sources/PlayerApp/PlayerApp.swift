// SPDX-License-Identifier: Apache-2.0

import CarrelPlayer
import CarrelRights
import CarrelVault

/// An app's use of a player, without requests to a server.
@main
struct PlayerApp {
    static func main() async throws {
        let folder = CommandLine.arguments[1]
        let vault = try await Vault.file(folder: folder + "/vault", passphrase: "correct horse", create: true)
        let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Player", build: "1"))
        await engine.meet([Obligation.Kind.imageConstraint.rawValue])
        do throws(PlayerError) {
            _ = try await engine.check("cid:film")
        } catch {
            print(error.code, error.number)
        }
        let token = try ServiceToken("https://rights.example/hms/ms3/rights/?b=AAAA#https%3A%2F%2Fcdn.example%2Fa.m3u8")
        print(token.form.rawValue, await engine.isPersonalized)
        await engine.shutdown()
    }
}
