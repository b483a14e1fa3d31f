import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct ContentKeyCommand: Command {
    static let name = "content-key"
    static let abstract = "The key store: keys of content for which portals send no key."
    static let subcommands: [any Command.Type] = [ContentKeyList.self, ContentKeyAdd.self, ContentKeyRemove.self]
}

struct ContentKeyAdd: Command {
    var options = HomeOptions()
    var id = ""

    static let name = "add"
    static let abstract = "Add a key, read from standard input: 32 hexadecimal digits."
    static let discussion = "An existing key is never replaced: another key under the same id is refused."
    static let parameters: [Parameter<Self>] =
        [.positional(\.id, "kid", help: "The key's id: 32 hexadecimal digits, or a UUID.")] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let key = try PasswordInput.read(console)
        let path = "/admin/v1/content-keys/\(PercentEncoding.encode(id))"
        _ = try await HomeClient(options).call(.put, path, ["key": .string(key)])
        if options.json { console.print(["kid": .string(id)]) }
    }
}

struct ContentKeyList: Command {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the ids of the keys in the key store; the keys are never shown."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let client = try await HomeClient(options)
        var (keys, after): ([JSON], String?) = ([], nil)
        repeat {
            let page = after.map { "&after=\($0)" } ?? ""
            let answer = try await client.call(.get, "/admin/v1/content-keys?limit=1000\(page)")
            keys += answer["keys"]?.array ?? []
            after = answer["next"]?.string
        } while after != nil
        if options.json { return console.print(["keys": .array(keys)]) }
        var table = TextTable(["ID", "ADDED"].map { TextTable.Column($0) })
        for key in keys { table.add(["kid", "createdAt"].map { key[$0]?.string ?? "" }) }
        console.print(table)
    }
}

struct ContentKeyRemove: Command {
    var options = HomeOptions()
    var id = ""
    var isForced = false

    static let name = "remove"
    static let abstract = "Remove a key: tokens that name it and bring no key are refused."
    static let discussion = """
        Licenses that were issued keep their copies of the key. While one of them can still be used, the key is removed with --force only: \
        its renewal goes on, and the same content gets no further license.
        """
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.id, "kid", help: "The key's id, as 'content-key list' shows it."),
            .flag(\.isForced, "--force", help: "Remove the key although live licenses have it."),
        ] + Parameter.group(\.options)

    var output: OutputOptions { options.output }

    func run(_ console: Console) async throws {
        let path = "/admin/v1/content-keys/\(PercentEncoding.encode(id))\(isForced ? "?force=true" : "")"
        _ = try await HomeClient(options).call(.delete, path)
        if options.json { console.print(["kid": .string(id)]) }
    }
}
