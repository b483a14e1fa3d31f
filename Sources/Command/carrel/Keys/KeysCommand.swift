// SPDX-License-Identifier: Apache-2.0

import CarrelAdministration
import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelStore

struct KeysCommand: Command {
    static let name = "keys"
    static let abstract = "The server's own keys: the master key, and the secrets that sign tickets, credentials and tokens."
    static let subcommands: [any Command.Type] = [
        KeysShow.self, KeysAdd.self, KeysRotate.self, KeysRotateTickets.self, KeysRotateCredentials.self, KeysRotateTokens.self,
    ]
}

struct KeysShow: HomeCommand {
    var options = HomeOptions()

    static let name = "show"
    static let abstract = "Show which version of the master key wraps new keys."

    func run(_ console: Console) async throws {
        let answer = try await call(.get, "/admin/v1/master-key")
        if options.json { return console.print(answer) }
        console.print("master key \(answer["version"]?.int ?? 0)")
        if let added = answer["added"]?.int { console.print("added for the next rotation: \(added)") }
        for node in answer["nodes"]?.array ?? [] {
            let versions = (node["masterVersions"]?.array ?? []).compactMap { $0.int.map { String($0) } }.joined(separator: ", ")
            console.print("node \(node["name"]?.string ?? ""): \(versions)")
        }
    }
}

struct KeysAdd: HomeCommand {
    var options = HomeOptions()
    var file: String?

    static let name = "add"
    static let abstract = "Add a master key for the next rotation, or copy it to another home of the same database."
    static let discussion = """
        Homes that share a PostgreSQL database all need its master keys. Add a key in one home, copy its file \
        'master.key' to the other machines, add it there with --from, and rotate when every node has it. Running servers load it \
        automatically. Only keys of this database are added from the copy.
        """
    static let examples = [
        Example("carrel keys add", "Adds a key in this home."),
        Example(
            "carrel keys add --from /run/user/0/master.key",
            "Adds the keys that this home lacks from a copy of another home's."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [.option(\.file, "--from", value: "file", help: "A copy of the file master.key of another home; it must have mode 0600.")]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let added = try await add()
        if options.json { return console.print(["added": .array(added.map { .integer($0) })]) }
        if added.isEmpty { console.print("no master key is missing") }
        for version in added { console.print("master key \(version) added") }
        if file == nil, !added.isEmpty { console.note("when every node has it, start using it with 'carrel keys rotate'") }
    }

    private func add() async throws -> [Int] {
        let target = "/admin/v1/master-key/add"
        guard let file else { return Self.versions(try await call(.post, target, [:])) }
        let home = try options.find()
        let copy = try MasterKeyring(file: file)
        if HomeClient.accepts(home.socketPath) {
            let body: JSON = ["keys": .string(copy.text), "file": .string(file)]
            return Self.versions(try await call(.post, target, body))
        }
        // A home that lacks a key does not open.
        let database = try await options.openDatabase()
        let added = try await KeyRotation(home: home, database: database, clock: SystemClock()).take(from: copy)
        await database.close()
        return added.map { Int($0) }
    }

    private static func versions(_ answer: JSON) -> [Int] { (answer["added"]?.array ?? []).compactMap(\.int) }
}

struct KeysRotate: HomeCommand {
    var options = HomeOptions()

    static let name = "rotate"
    static let abstract = "Replace the master key, and rewrap all keys under the new one."
    static let discussion = """
        The previous key is kept until the next rotation, because an order placed meanwhile may still be wrapped under it. \
        After a leak, rotate twice. The next rotation finishes an interrupted one. On PostgreSQL the new key is the one that \
        'carrel keys add' added, and nothing changes while a node seen in the last minute lacks it.
        """

    func run(_ console: Console) async throws {
        let answer = try await call(.post, "/admin/v1/master-key/rotate")
        show(answer, as: "master key \(answer["version"]?.int ?? 0): \(answer["rewrapped"]?.int ?? 0) keys rewrapped", console)
    }
}

struct KeysRotateTickets: HomeCommand {
    var options = HomeOptions()
    var atOnce = false

    static let name = "rotate-tickets"
    static let abstract = "Replace the secret that signs tickets, the short-lived parts of segment and key addresses."
    static let discussion = """
        Issued tickets work until they expire, and no playlist changes early: the new secret signs \
        the next ones. A server deletes an old secret when it starts after the last ticket signed with it has expired. After a leak, \
        --at-once revokes all issued tickets; players must reload their playlists.
        """
    static let examples = [
        Example("carrel keys rotate-tickets", "Replaces the secret; listeners and apps notice nothing."),
        Example("carrel keys rotate-tickets --at-once", "Revokes every issued address of segments and keys."),
    ]
    static let parameters: [Parameter<Self>] =
        [.flag(\.atOnce, "--at-once", help: "Delete the previous secrets, which revokes every issued ticket.")]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let target = "/admin/v1/ticket-key/rotate\(atOnce ? "?atOnce=true" : "")"
        let answer = try await call(.post, target)
        if options.json { return console.print(answer) }
        let forgotten = answer["forgotten"]?.int ?? 0
        console.print("ticket secret \(answer["key"]?.int ?? 0) signs from \(answer["signsFrom"]?.string ?? "")")
        if forgotten > 0 { console.note("deleted secrets: \(forgotten); playlists fetched earlier no longer work") }
    }
}

struct KeysRotateCredentials: HomeCommand {
    var options = HomeOptions()
    var atOnce = false

    static let name = "rotate-credentials"
    static let abstract = "Replace the secret that signs edition credentials."
    static let discussion = """
        Issued credentials work until they expire: the previous secrets are kept for the month that the \
        last of them can live. After a leak, --at-once revokes all of them; apps request new ones.
        """
    static let examples = [
        Example("carrel keys rotate-credentials", "Replaces the secret; listeners and apps notice nothing."),
        Example("carrel keys rotate-credentials --at-once", "Revokes all issued credentials."),
    ]
    static let parameters: [Parameter<Self>] =
        [.flag(\.atOnce, "--at-once", help: "Delete the previous secrets, which revokes all issued credentials.")]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let target = "/admin/v1/credential-key/rotate\(atOnce ? "?atOnce=true" : "")"
        let answer = try await call(.post, target)
        if options.json { return console.print(answer) }
        console.print("credential secret \(answer["key"]?.int ?? 0) signs from \(answer["signsFrom"]?.string ?? "")")
        if atOnce { console.note("credentials issued earlier no longer work") }
    }
}

struct KeysRotateTokens: HomeCommand {
    var options = HomeOptions()
    var atOnce = false

    static let name = "rotate-tokens"
    static let abstract = "Replace the secrets that seal tokens and sign the server's own license messages."
    static let discussion = """
        Issued tokens work until they end, up to ten years: the previous secrets are kept for that time. After a leak, --at-once ends all of \
        them, also those that were sold and not yet redeemed; licenses stay.
        """
    static let examples = [
        Example("carrel keys rotate-tokens", "Replaces the secrets; portals and readers notice nothing."),
        Example("carrel keys rotate-tokens --at-once", "Ends all issued tokens."),
    ]
    static let parameters: [Parameter<Self>] =
        [.flag(\.atOnce, "--at-once", help: "Delete the previous secrets, which ends all issued tokens.")]
        + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let target = "/admin/v1/token-key/rotate\(atOnce ? "?atOnce=true" : "")"
        let answer = try await call(.post, target)
        if options.json { return console.print(answer) }
        console.print("token secret \(answer["key"]?.int ?? 0) seals from \(answer["signsFrom"]?.string ?? "")")
        if atOnce { console.note("tokens issued earlier no longer work") }
    }
}
