// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct ContentKeyCommand: Command {
    static let name = "content-key"
    static let abstract = "The key store: keys of content for which portals send no key."
    static let subcommands: [any Command.Type] = [ContentKeyList.self, ContentKeyAdd.self, ContentKeyRemove.self]
}

struct ContentKeyAdd: HomeCommand {
    var options = HomeOptions()
    var id = ""
    var owner: String?

    static let name = "add"
    static let abstract = "Add a key, read from standard input: 32 hexadecimal digits."
    static let discussion = """
        An existing key is never replaced: another key under the same id is refused. Every portal may name the key in tokens, unless --for \
        names the one that may.
        """
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.id, "kid", help: "The key's id: 32 hexadecimal digits, or a UUID."),
            .option(
                \.owner,
                "--for",
                value: "key-id",
                help: "The back-office key of the portal that alone may name it; default: all."
            ),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let key = try PasswordInput.read(console)
        let path = "/admin/v1/content-keys/\(PercentEncoding.encode(id))"
        var body: JSONObject = ["key": .string(key)]
        body["owner"] = owner.map { .string($0) }
        _ = try await call(.put, path, .object(body))
        if options.json { console.print(["kid": .string(id)]) }
    }
}

struct ContentKeyList: ListCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the ids of the keys in the key store; the keys are never shown."

    static let rows = "keys"
    static let columns: ListColumns = ["ID": "kid", "ADDED": "createdAt", "CONTENT": "content", "OWNER": "owner"]

    func list() async throws -> JSON { try await HomeClient(options).pages("/admin/v1/content-keys", Self.rows) }
}

struct ContentKeyRemove: HomeCommand {
    var options = HomeOptions()
    var id = ""
    var isForced = false
    var isRevoked = false

    static let name = "remove"
    static let abstract = "Remove a key: tokens that name it and bring no key are refused."
    static let discussion = """
        Licenses that were issued keep their copies of the key. While one of them can still be used, the key is removed with --force only: \
        its renewal goes on, and the same content gets no further license. With --revoke the key's id is also in the list of revocations, for \
        good: devices stop using licenses with the key when they have the list.
        """
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.id, "kid", help: "The key's id, as 'content-key list' shows it."),
            .flag(\.isForced, "--force", help: "Remove the key although live licenses have it."),
            .flag(\.isRevoked, "--revoke", help: "Also end the use of the key on devices."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let query = [isForced ? "force=true" : nil, isRevoked ? "revoke=true" : nil].compactMap(\.self).joined(separator: "&")
        let path = "/admin/v1/content-keys/\(PercentEncoding.encode(id))\(query.isEmpty ? "" : "?\(query)")"
        _ = try await call(.delete, path)
        if options.json { console.print(["kid": .string(id)]) }
    }
}
