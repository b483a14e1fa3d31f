// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelContentKeys
import CarrelLicenseKeys
import CarrelMedia
@_spi(Extended) import CarrelPlayer
import CarrelVault
import Glibc
import ProgramArguments

/// Plays content in a process of its own, which a test may limit or kill.
///
/// `PlayerProgram FOLDER CONTENT COUNT [file-size=BYTES] [core]` begins a play as often as `COUNT` says, with the file vault of the player in
/// `FOLDER`, whose passphrase is in `CARREL_VAULT_PASSPHRASE`. It writes `playing N` after the begin of each play, or the code and the text of an error. With `core`
/// it opens the content's key and then ends by SIGABRT. With `stream` the content is a DCF: it is opened with the stored licenses as often as `COUNT`
/// says, and `bytes N` is written after the first bytes of each stream. With `saved` the content is a saved item, and the words after the count are
/// key IDs: `saved N` has the number of keys that the item gives.
@main
struct PlayerProgram {
    static func main() async throws {
        let arguments = ProgramArguments(options: ["core", "saved", "stream"])
        let words = arguments.words
        guard words.count == 3 || (words.count > 3 && arguments.has("saved")), let count = Int(words[2]),
            let passphrase = unsafe getenv("CARREL_VAULT_PASSPHRASE")
        else {
            exit(64)
        }
        let secret = unsafe String(cString: passphrase)
        do throws(PlayerError) {
            let vault: Vault
            do throws(VaultError) {
                vault = try await Vault.file(folder: "\(words[0])/vault", passphrase: secret)
            } catch {
                ProgramArguments.say("\(error.code) \(error.message)")
                exit(1)
            }
            let engine = try PlayerEngine(folder: words[0], vault: vault, app: .init(name: "program", build: "1"))
            if arguments.has("saved") {
                let keys = SavedKeys(engine, item: words[1])
                var found = 0
                for id in words.dropFirst(3) {
                    if case .granted = await keys.key(.id(Hex.decode(id) ?? [])) { found += 1 }
                }
                ProgramArguments.say("saved \(found)")
                await keys.end()
                await engine.shutdown()
                exit(found == count ? 0 : 1)
            }
            for number in 1...max(count, 1) where arguments.has("stream") {
                do {
                    let keys = LicenseKeys(engine)
                    let stream = try await MediaStream.open(FileSource(path: words[1]), as: .dcf(), keys: keys)
                    guard try await !stream.read(upTo: 16).isEmpty else { exit(2) }
                    ProgramArguments.say("bytes \(number)")
                    await stream.close()
                    await keys.end()
                } catch {
                    ProgramArguments.say("\(error)")
                    exit(1)
                }
            }
            for number in 1...max(count, 1) where !arguments.has("stream") {
                let session = try await engine.begin(words[1])
                if arguments.has("core") { for id in session.keyIDs { _ = try await session.contentKey(id) } }
                ProgramArguments.say("playing \(number)")
                if arguments.has("core") { abort() }
                await session.stop()
            }
            await engine.shutdown()
        } catch {
            ProgramArguments.say("\(error.code) \(error.message)")
            exit(1)
        }
    }
}
