// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelPlayer
import CarrelVault
import Glibc
import ProgramArguments

/// Saves streams in a process of its own, which a test may limit or kill.
///
/// `DownloadProgram FOLDER add URL` saves a stream and writes its state, `DownloadProgram FOLDER run` continues all, `DownloadProgram FOLDER delete ID` removes an
/// item. The vault is the file vault of the player in `FOLDER`, whose passphrase is in `CARREL_VAULT_PASSPHRASE`; with `file-size=BYTES` no file
/// grows beyond that.
@main
struct DownloadProgram {
    static func main() async throws {
        let arguments = ProgramArguments(options: [])
        let words = arguments.words
        guard words.count >= 2, let passphrase = unsafe getenv("CARREL_VAULT_PASSPHRASE") else { exit(64) }
        let secret = unsafe String(cString: passphrase)
        let reader = words[0]
        do {
            let downloads = try Downloads(folder: reader) {
                let vault = try await Vault.file(folder: "\(reader)/vault", passphrase: secret)
                return try PlayerEngine(folder: reader, vault: vault, app: .init(name: "program", build: "1"))
            }
            switch words[1] {
            case "add" where words.count > 2:
                let (item, _) = try await downloads.add(DownloadSource(words[2]))
                try await downloads.run(until: item.id)
                try ProgramArguments.say(await downloads.item(item.id).state.rawValue)
            case "run":
                try await downloads.run()
                for item in try await downloads.items() { ProgramArguments.say(item.state.rawValue) }
            case "delete" where words.count > 2: try await downloads.delete(words[2])
            default: exit(64)
            }
            await downloads.close()
        } catch {
            ProgramArguments.say("\(error)")
            exit(1)
        }
    }
}
