// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelFiles
import CarrelHTTP
import CarrelJSON
import Glibc

struct TokenCommand: Command {
    static let name = "token"
    static let abstract = "Tokens: made for readers, and redeemed for licenses on this device."
    static let subcommands: [any Command.Type] = [
        TokenCreate.self, TokenRedeem.self, TokenShow.self,
    ]
}

/// The rights of a token.
enum TokenRights: String, CaseIterable, TextValue {
    case buy, rental
}

struct TokenCreate: Command {
    var title = ""
    var account: String?
    var player: String?
    var deviceKey: String?
    var rights = TokenRights.buy
    var playDuration: Int?
    var periodEnd: EndTime?
    var redemptions = 1
    var life = Duration.seconds(30 * 86_400)
    var content: String?
    var file: String?
    var conditions = ConditionOptions()
    var base = PublicURLOptions()

    static let name = "create"
    static let abstract = "Make a token for a title, in three forms: one player redeems it for a license."
    static let discussion = """
        The forms are a compound URL for a stream (ms3), an action token (bb, XML) and a license message (jwt). They are one grant: \
        redeeming any of them places one order of the title, for the account, for that of the player, or for an account of the player's own. \
        The first player that redeems bb or jwt has the license; a repeat by the same player finds it again. A stream is redeemed for itself. \
        Each form is as good as the title: keep them from others. A license may have conditions; a player that cannot enforce them does not \
        use it. With --plays or --storage there is no stream, on which nothing would be counted. A token for an audiobook has no condition \
        but --metering: its order also plays on the shelf.
        """
    static let examples = [
        Example("carrel token create --title ID --account alice", "Gives a title to an account."),
        Example(
            "carrel token create --title ID --rights rental --play-duration 172800 --period-end 2026-12-24T00:00:00Z",
            "Rents a title until an instant, and for two days from the first play on."
        ),
        Example(
            "carrel token create --title ID --copy 2000 --print 10 --no-export --watermark 'Alice, order 1001'",
            "Gives an ebook of which 2,000 characters are copied and ten pages printed."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(\.title, "--title", value: "id", help: "The title's id.", required: true),
            .option(
                \.account,
                "--account",
                value: "name",
                help: "The account that receives the title, whose devices redeem the token; default: the player's."
            ),
            .option(\.player, "--player", value: "id", help: "The one player that may redeem it; default: any."),
            .option(
                \.deviceKey,
                "--cnf",
                value: "thumbprint",
                help: "The one device key that may redeem it, by its thumbprint (RFC 7638), before its player is known here."
            ),
            .option(\.rights, "--rights", help: "To own, or a rental with an end."),
            .option(
                \.playDuration,
                "--play-duration",
                value: "seconds",
                help: "Seconds from the first play on; they end the license and its order. Required for a rental."
            ),
            .option(
                \.periodEnd,
                "--period-end",
                help: "When a rental ends, such as 2026-12-24 or +30d. Required for a rental."
            ),
            .option(
                \.redemptions,
                "--redemptions",
                value: "number",
                help: "How many players may redeem it.",
                allowed: .only("a number from 1 to 1000000") { 1...1_000_000 ~= $0 }
            ),
            .option(\.life, "--valid-for", help: "Time until it can no longer be redeemed, up to ten years."),
            .option(
                \.content,
                "--content-url",
                value: "url",
                help: "Address of the content in the compound URL; default: the title's protected file, else the shelf."
            ),
            .option(
                \.file,
                "--output",
                value: "file",
                help: "A file to write the action token to, instead of printing it.",
                completion: .file
            ),
        ] + Parameter.group(\.conditions) + Parameter.group(\.base)

    var output: OutputOptions { base.options.output }

    func validate() throws(UsageError) {
        guard (rights == .rental) == (playDuration != nil), (rights == .rental) == (periodEnd != nil) else {
            throw UsageError(
                .contradiction,
                "--play-duration and --period-end are needed for --rights rental, and for nothing else"
            )
        }
        try periodEnd?.requireFuture("--period-end")
        guard player == nil || deviceKey == nil else {
            throw UsageError(.contradiction, "--player and --cnf both name the device: give one")
        }
        if let file, unsafe access(file, F_OK) == 0 { throw UsageError(.badValue, "\(file) exists: name another file") }
    }

    func run(_ console: Console) async throws {
        let (server, isGuess) = try base.base(console)
        var body: JSONObject = [
            "title": .string(title), "rights": .string(rights.rawValue), "redemptions": .integer(redemptions),
            "expiresIn": .integer(life.components.seconds), "serviceURL": .string(server),
        ]
        body["account"] = account.map { .string($0) }
        body["player"] = player.map { .string($0) }
        body["cnf"] = deviceKey.map { .string($0) }
        conditions.write(to: &body)
        body["playDuration"] = playDuration.map { .integer($0) }
        body["periodEnd"] = periodEnd.map { .string($0.written) }
        body["contentURL"] = content.map { .string($0) }
        let answer = try await HomeClient(base.options).call(.post, "/admin/v1/tokens", .object(body))
        if isGuess {
            console.warning(
                "the token names \(server), where a server of this home would listen: none runs now",
                hint: "set http.public-url, or use --url, where devices reach the server by another address"
            )
        }
        let action = answer["bb"]?.string ?? ""
        if let file { try DurableFile.create(file, with: Array(action.utf8)) }
        if let problem = answer["ms3Problem"]?.string { console.note("no ms3 form: \(problem)") }
        if base.options.json {
            return console.print(["ms3": answer["ms3"] ?? .null, "bb": .string(file ?? action), "jwt": answer["jwt"] ?? .null])
        }
        if let url = answer["ms3"]?.string { console.print("ms3: \(url)") }
        // white space between elements means nothing
        console.print("bb:  \(file ?? action.split(separator: "\n").joined())")
        console.print("jwt: \(answer["jwt"]?.string ?? "")")
        console.note("it can be redeemed until \(answer["expiresAt"]?.string ?? "")")
    }
}

struct CommunicationKeyCommand: Command {
    static let name = "communication-key"
    static let abstract = "Keys that other systems sign license messages with."
    static let subcommands: [any Command.Type] = [
        CommunicationKeyList.self, CommunicationKeyAdd.self, CommunicationKeyRemove.self,
    ]
}

struct CommunicationKeyAdd: HomeCommand {
    var options = HomeOptions()
    var id = ""
    var owner: String?

    static let name = "add"
    static let abstract = "Add a key, read from standard input: 32 bytes in hexadecimal digits or base 64."
    static let discussion = """
        Messages that are signed with it (HS256, the type JWT) and name its id are redeemed as tokens. An existing key is never replaced: \
        another key under the same id is refused. Its messages may name content keys without an owner, and with --for those of that portal.
        """
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.id, "id", help: "The key's id, a UUID."),
            .option(
                \.owner,
                "--for",
                value: "key-id",
                help: "The back-office key of the portal that signs with it; default: none."
            ),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let key = try PasswordInput.read(console)
        let path = "/admin/v1/communication-keys/\(PercentEncoding.encode(id))"
        var body: JSONObject = ["key": .string(key)]
        body["owner"] = owner.map { .string($0) }
        _ = try await call(.put, path, .object(body))
        if options.json { console.print(["id": .string(id)]) }
    }
}

struct CommunicationKeyList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the keys, those of the server first, then by age."

    static let rows = "keys"
    static let columns: ListColumns = [
        "ID": "id",
        "OWNER": .text { $0["isOwn"]?.bool == true ? "this server" : $0["owner"]?.string ?? "another system" },
        "ADDED": "createdAt",
    ]

    func list() async throws -> JSON { try await call(.get, "/admin/v1/communication-keys") }
}

struct CommunicationKeyRemove: HomeCommand {
    var options = HomeOptions()
    var id = ""

    static let name = "remove"
    static let abstract = "Remove a key: messages signed with it are refused immediately."
    static let discussion = "Licenses that were redeemed with such messages stay. The server's own key cannot be removed."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "id", help: "The key's id, as 'communication-key list' shows it.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.delete, "/admin/v1/communication-keys/\(PercentEncoding.encode(id))")
        if options.json { console.print(["id": .string(id)]) }
    }
}
