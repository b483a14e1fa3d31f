// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelVault

/// Writes the length of a DCF's content, which a stored license opens. The passphrase of the vault is the first line of standard input; a second
/// line with a token is redeemed first.
@main
struct ReadLicensed {
    static func main() async throws {
        let (folder, file) = (CommandLine.arguments[1], CommandLine.arguments[2])
        let vault = try await Vault.file(folder: folder + "/vault", passphrase: readLine() ?? "")
        let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "ReadLicensed", build: "1"))
        let keys = LicenseKeys(engine)
        if let token = readLine() { await keys.receive(licenseToken: token) }
        do {
            let stream = try await MediaStream.open(FileSource(path: file), as: .dcf(), keys: keys)
            var count = 0
            while case let bytes = try await stream.read(upTo: 65_536), !bytes.isEmpty { count += bytes.count }
            print(count, "bytes")
        } catch let error as MediaError {
            print(error.message)
        }
        await keys.end()
        await engine.shutdown()
    }
}
