@_spi(Extended) import CarrelPlayer
import CarrelVault
import Glibc

/// Plays content in a process of its own, which a test may limit or kill.
///
/// `PlayerProgram FOLDER CONTENT COUNT [file-size=BYTES] [core]` begins a play as often as `COUNT` says, with the file vault of the player in
/// `FOLDER`, whose passphrase is in `CARREL_VAULT_PASSPHRASE`. It writes `playing N` after the begin of each play, or the code and the text of an error. With `core`
/// it opens the content's key and then ends by SIGABRT.
@main
struct PlayerProgram {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count >= 4, let count = Int(words[3]), let passphrase = unsafe getenv("CARREL_VAULT_PASSPHRASE") else {
            exit(64)
        }
        if let bytes = words.last?.split(separator: "=").last.flatMap({ UInt($0) }), words.count > 4 { limitFiles(bytes) }
        let secret = unsafe String(cString: passphrase)
        do throws(PlayerError) {
            let vault: Vault
            do throws(VaultError) {
                vault = try await Vault.file(folder: "\(words[1])/vault", passphrase: secret)
            } catch {
                say("\(error.code) \(error.message)")
                exit(1)
            }
            let engine = try PlayerEngine(folder: words[1], vault: vault, app: .init(name: "program", build: "1"))
            for number in 1...max(count, 1) {
                let session = try await engine.begin(words[2])
                if words.contains("core") { for id in session.keyIDs { _ = try await session.contentKey(id) } }
                say("playing \(number)")
                if words.contains("core") { abort() }
                await session.stop()
            }
            await engine.shutdown()
        } catch {
            say("\(error.code) \(error.message)")
            exit(1)
        }
    }

    /// Fails writes beyond so many bytes of a file, as a full disk does.
    private static func limitFiles(_ bytes: UInt) {
        signal(SIGXFSZ, SIG_IGN)
        var limits = rlimit(rlim_cur: bytes, rlim_max: .max)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(70) }
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}
