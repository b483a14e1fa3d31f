import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct KeysCommand: Command {
    static let name = "keys"
    static let abstract = "The keys that the server keeps: the master key, and the secrets that sign tickets and credentials."
    static let subcommands: [any Command.Type] = [
        KeysShow.self, KeysRotate.self, KeysRotateTickets.self, KeysRotateCredentials.self,
    ]
}

struct KeysShow: Command {
    var options = HomeOptions()

    static let name = "show"
    static let abstract = "Say which version of the master key wraps new keys."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.get, "/admin/v1/master-key")
        if options.json { return console.print(answer) }
        console.print("master key \(answer["version"]?.int ?? 0)")
    }
}

struct KeysRotate: Command {
    var options = HomeOptions()

    static let name = "rotate"
    static let abstract = "Make a new master key and wrap everything under it again."
    static let discussion = """
        The key before it is kept until the next rotation, because an order placed meanwhile may still be under it. \
        After a leak, rotate twice. An interrupted rotation is finished by the next.
        """
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options).call(.post, "/admin/v1/master-key/rotate")
        if options.json { return console.print(answer) }
        console.print("master key \(answer["version"]?.int ?? 0): \(answer["rewrapped"]?.int ?? 0) keys wrapped again")
    }
}

struct KeysRotateTickets: Command {
    var options = HomeOptions()
    var atOnce = false

    static let name = "rotate-tickets"
    static let abstract = "Sign tickets, the short-lived parts of segment and key addresses, with a new secret."
    static let discussion = """
        Tickets that were given out open until they expire, and no playlist changes before it would have: the new secret signs \
        the next ones. A server forgets an old secret when it starts after the last ticket under it has died. After a leak, \
        --at-once ends all of them; players have to fetch their playlists again.
        """
    static let examples = [
        Example("carrel keys rotate-tickets", "Changes the secret without anybody noticing."),
        Example("carrel keys rotate-tickets --at-once", "Ends every address of segments and keys that was given out."),
    ]
    static let parameters: [Parameter<Self>] =
        [.flag(\.atOnce, "--at-once", help: "Forget the secrets before it, and with them every ticket that was given out.")]
        + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let target = "/admin/v1/ticket-key/rotate\(atOnce ? "?atOnce=true" : "")"
        let answer = try await HomeClient(options).call(.post, target)
        if options.json { return console.print(answer) }
        let forgotten = answer["forgotten"]?.int ?? 0
        console.print("ticket secret \(answer["key"]?.int ?? 0) signs from \(answer["signsFrom"]?.string ?? "")")
        if forgotten > 0 { console.note("forgotten: \(forgotten); playlists fetched before no longer work") }
    }
}

struct KeysRotateCredentials: Command {
    var options = HomeOptions()
    var atOnce = false

    static let name = "rotate-credentials"
    static let abstract = "Make editions' credentials with a new secret."
    static let discussion = """
        Credentials that were given out open until they expire: the secrets before the new one are kept for the month that the \
        last of them can live. After a leak, --at-once ends all of them; apps ask for new ones.
        """
    static let examples = [
        Example("carrel keys rotate-credentials", "Changes the secret without anybody noticing."),
        Example("carrel keys rotate-credentials --at-once", "Ends all credentials that were given out."),
    ]
    static let parameters: [Parameter<Self>] =
        [.flag(\.atOnce, "--at-once", help: "Forget the secrets before it, and with them all credentials that were given out.")]
        + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let target = "/admin/v1/credential-key/rotate\(atOnce ? "?atOnce=true" : "")"
        let answer = try await HomeClient(options).call(.post, target)
        if options.json { return console.print(answer) }
        console.print("credential secret \(answer["key"]?.int ?? 0) signs from \(answer["signsFrom"]?.string ?? "")")
        if atOnce { console.note("credentials that were given out before no longer open anything") }
    }
}
