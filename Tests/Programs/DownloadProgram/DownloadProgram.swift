// SPDX-License-Identifier: Apache-2.0

import CarrelDownloads
import CarrelPlayer
import CarrelVault
import Glibc
import ProgramArguments

/// Saves streams in a process of its own, which a test may limit or kill.
///
/// `DownloadProgram FOLDER add URL` saves a stream, `DownloadProgram FOLDER run` continues all, `DownloadProgram FOLDER delete ID` removes an item. Each item is written
/// with its state, id and reason. The vault is the file vault of the player in `FOLDER`, whose passphrase is in `CARREL_VAULT_PASSPHRASE`, or
/// the one in `CARREL_VAULT_FOLDER`. With `whole-disk` no room of the disk is left free.
@main
struct DownloadProgram {
    static func main() async throws {
        let arguments = ProgramArguments(options: ["whole-disk"])
        let words = arguments.words
        guard words.count >= 2, let passphrase = unsafe getenv("CARREL_VAULT_PASSPHRASE") else { exit(64) }
        let secret = unsafe String(cString: passphrase)
        let reader = words[0]
        do {
            var options = Downloads.Options()
            options.pace.attempts = 2
            if arguments.has("whole-disk") { options.pace.margin = 0 }
            let vaultFolder = unsafe getenv("CARREL_VAULT_FOLDER").map { unsafe String(cString: $0) } ?? "\(reader)/vault"
            let downloads = try Downloads(folder: reader, options: options) {
                let vault = try await Vault.file(folder: vaultFolder, passphrase: secret)
                return try PlayerEngine(folder: reader, vault: vault, app: .init(name: "program", build: "1"))
            }
            switch words[1] {
            case "add" where words.count > 2:
                let (item, _) = try await downloads.add(DownloadSource(words[2]))
                try await downloads.run(until: item.id)
                say(try await downloads.item(item.id))
            case "run":
                try await downloads.run()
                for item in try await downloads.items() { say(item) }
            case "delete" where words.count > 2: try await downloads.delete(words[2])
            default: exit(64)
            }
            await downloads.close()
        } catch {
            ProgramArguments.say("\(error)")
            exit(1)
        }
    }

    private static func say(_ item: DownloadItem) {
        ProgramArguments.say("\(item.state.rawValue) \(item.id) \(item.reason ?? "-")")
    }
}
