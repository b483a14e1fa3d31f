// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct PlayerCommand: Command {
    static let name = "player"
    static let abstract = "Players: copies of apps that the server certified, and their licenses."
    static let subcommands: [any Command.Type] = [
        PlayerList.self, PlayerShow.self, PlayerCertify.self, PlayerSuspend.self, PlayerResume.self, PlayerRevoke.self,
        PlayerLicenses.self,
        PlayerRevokeLicense.self, PlayerRedemptions.self, PlayerDenials.self, PlayerStreams.self,
    ]
}

struct PlayerList: ListCommand {
    var options = HomeOptions()
    var account: String?

    static let name = "list"
    static let abstract = "List players, the oldest first."
    static let parameters: [Parameter<Self>] =
        [.option(\.account, "--account", value: "name", help: "Only those of an account.")] + Parameter.group(\.options)

    static let rows = "players"
    static let columns: ListColumns = [
        "ID": "id", "STATE": "state", "LEVEL": "level", "APP": "app", "NAME": "name", "ACCOUNT": "account", "SINCE": "createdAt",
        "UNTIL": "expiresAt",
    ]

    func list() async throws -> JSON {
        let query = account.map { "?account=\(PercentEncoding.encode($0))" } ?? ""
        return try await call(.get, "/admin/v1/players\(query)")
    }
}

struct PlayerShow: HomeCommand {
    var options = HomeOptions()
    var player = ""

    static let name = "show"
    static let abstract = "Show a player as JSON."
    static let parameters: [Parameter<Self>] =
        [.positional(\.player, "id", help: "The player's id.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        console.print(try await call(.get, "/admin/v1/players/\(PercentEncoding.encode(player))"))
    }
}

/// A change of a player's state.
private protocol PlayerChange: HomeCommand {
    var player: String { get set }
}

extension PlayerChange {
    static var parameters: [Parameter<Self>] {
        [.positional(\.player, "id", help: "The player's id, as 'player list' shows it.")] + Parameter.group(\.options)
    }

    func run(_ console: Console) async throws {
        let path = "/admin/v1/players/\(PercentEncoding.encode(player))/\(Self.name)"
        let answer = try await call(.post, path)
        show(answer, as: "\(player): \(answer["state"]?.string ?? "")", console)
    }
}

struct PlayerSuspend: PlayerChange {
    var options = HomeOptions()
    var player = ""

    static let name = "suspend"
    static let abstract = "Suspend a player until it is resumed."
}

struct PlayerResume: PlayerChange {
    var options = HomeOptions()
    var player = ""

    static let name = "resume"
    static let abstract = "Resume a suspended player."
}

struct PlayerRevoke: PlayerChange {
    var options = HomeOptions()
    var player = ""

    static let name = "revoke"
    static let abstract = "Revoke a player for good: its copy of the app needs new keys."
}

struct PlayerLicenses: ListCommand {
    var options = HomeOptions()
    var player: String?

    static let name = "licenses"
    static let abstract = "List licenses, the oldest first."
    static let parameters: [Parameter<Self>] =
        [.positional(\.player, "id", help: "Only those of a player.")] + Parameter.group(\.options)

    static let rows = "licenses"
    static let columns: ListColumns = [
        "ID": "id", "CONTENT": "contentId", "SESSION": "session", "ISSUED": "issuedAt", "ENDED": "endedAt",
    ]

    func list() async throws -> JSON {
        let query = player.map { "?player=\(PercentEncoding.encode($0))" } ?? ""
        return try await call(.get, "/admin/v1/licenses\(query)")
    }
}

struct PlayerRevokeLicense: HomeCommand {
    var options = HomeOptions()
    var license = ""

    static let name = "revoke-license"
    static let abstract = "Revoke a license; players learn of it from the list of revocations."
    static let parameters: [Parameter<Self>] =
        [.positional(\.license, "id", help: "The license's id.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let path = "/admin/v1/licenses/\(PercentEncoding.encode(license))/revoke"
        let answer = try await call(.post, path)
        show(answer, as: "\(license): revoked", console)
    }
}
