// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelPlayer
import CarrelVault
import Glibc

struct DevicePersonalize: Command {
    var server = ""
    var renews = false
    var takesSession = false
    var deviceName: String?
    var folder = ReaderFolder()
    var vault = VaultOptions()

    static let name = "personalize"
    static let abstract = "Get a certificate for this copy of the reader, once."
    static let discussion = """
        Makes two keys in a vault and asks the server for a certificate. Run again, it prints the same player, and renews the certificate when \
        that is due. It can be repeated after every failure. A copied folder is refused: the copy needs a folder and keys of its own.

        A file vault reads its passphrase from CARREL_VAULT_PASSPHRASE, or from the terminal.
        """
    static let examples = [
        Example(
            "carrel device personalize --server https://books.example.org",
            "Personalises the reader in the user's state folder."
        )
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.server, "--server", value: "url", help: "The server: https, or http on this machine.", required: true),
            .option(
                \.deviceName,
                "--name",
                value: "text",
                help: "The device's name in the server's lists; default: the host's name."
            ),
            .flag(\.renews, "--renew", help: "Ask the server though the certificate is young."),
            .flag(
                \.takesSession,
                "--session-stdin",
                help: "Link the player to the account of a session token, read from standard input."
            ),
        ] + Parameter.group(\.folder) + Parameter.group(\.vault)

    var output: OutputOptions { folder.output }

    func run(_ console: Console) async throws {
        // before a vault is made
        try PlayerEngine.checkAddress(server)
        let session = takesSession ? try PasswordInput.read(console) : nil
        let engine = try await Self.engine(folder, vault, name: deviceName, console)
        let identity = try await engine.personalize(server: server, session: session, isForced: renews)
        await engine.shutdown()
        DeviceShow.print(identity, json: folder.json, console)
    }

    /// The player of a folder with its vault opened, which reports its steps.
    static func engine(
        _ folder: ReaderFolder,
        _ vault: VaultOptions,
        name: String?,
        _ console: Console
    ) async throws -> PlayerEngine {
        let path = try folder.make()
        let opened = try await vault.open(in: path, console)
        let engine = try PlayerEngine(
            folder: path,
            vault: opened,
            app: .init(name: "carrel", build: Version.text, device: name ?? hostName)
        ) { transaction in
            if case .progress(_, let step, let done, let total) = transaction {
                console.note("\(step) (\(done) of \(total))")
            }
        }
        return engine
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

struct DeviceShow: Command {
    var folder = ReaderFolder()

    static let name = "show"
    static let abstract = "Show the player of this copy of the reader."
    static let discussion = "Reads the player's own file: neither the vault nor the server is asked."
    static let parameters: [Parameter<Self>] = Parameter.group(\.folder)

    var output: OutputOptions { folder.output }

    func run(_ console: Console) async throws {
        let path = try folder.path()
        guard let identity = try PlayerEngine.identity(of: path) else {
            throw NotPersonalized(folder: path)
        }
        Self.print(identity, json: folder.json, console)
    }

    /// Prints a player; `more` are further members of the JSON.
    static func print(_ identity: PlayerEngine.Identity, json: Bool, _ console: Console, more: JSONObject = [:]) {
        if json {
            var object: JSONObject = [
                "player": .string(identity.player), "level": .string(identity.level.rawValue),
                "vault": .string(identity.vault.rawValue), "server": .string(identity.server),
                "renewAt": .string(identity.renewAt.description), "expiresAt": .string(identity.expiresAt.description),
            ]
            for (name, value) in more { object[name] = value }
            return console.print(.object(object))
        }
        console.print("player \(identity.player)")
        console.print("keys in the vault '\(identity.vault.rawValue)', level \(identity.level.rawValue)")
        console.print(
            "server \(identity.server.isEmpty ? "not known yet" : identity.server), certificate until \(identity.expiresAt)"
        )
    }
}
