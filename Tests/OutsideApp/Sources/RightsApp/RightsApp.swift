// SPDX-License-Identifier: Apache-2.0

import CarrelLicenseKeys
import CarrelMedia
import CarrelMediaSource
import CarrelPlayer
import CarrelPlayerRights
import CarrelProxy
import CarrelVault

/// An app's use of stored licenses, without requests to a server.
@main
struct RightsApp {
    static func main() async throws {
        let folder = CommandLine.arguments[1]
        let vault = try await Vault.file(folder: folder + "/rights-vault", passphrase: "correct horse", create: true)
        let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Rights", build: "1"))
        let keys = LicenseKeys(engine, content: "cid:film")
        if case .unknown = await keys.key(.track(1)) { print("no license") }
        let proxy = try PlaylistProxy(expectedMajor: 1)
        try proxy.start()
        do throws(ProxyError) {
            let address = "ms3://127.0.0.1:9/hms/ms3/rights/?b=AAAA#https%3A%2F%2Fcdn.example%2Fa.m3u8"
            _ = try await proxy.makeURL(address, .hls, rights: PlayerRights(engine)).check()
        } catch {
            print(error.code)
        }
        await proxy.stop()
        await keys.end()
        await engine.shutdown()
    }
}
