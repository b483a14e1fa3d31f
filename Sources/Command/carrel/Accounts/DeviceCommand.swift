// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelJSON

struct DeviceCommand: Command {
    static let name = "device"
    static let abstract = "Devices signed in to accounts, and the player of this device."
    static let subcommands: [any Command.Type] = [
        DeviceList.self, DeviceRename.self, DeviceRevoke.self, DeviceReset.self, DevicePersonalize.self, DeviceShow.self,
        DeviceUpdate.self,
        DeviceLink.self, DeviceRequest.self, DeviceInsert.self,
    ]
}

struct DeviceList: ListCommand, OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "list"
    static let abstract = "List an account's devices, the oldest first."

    static let rows = "devices"
    static let columns: ListColumns = [
        "ID": "id", "NAME": "name", "SINCE": "createdAt", "LAST SIGN-IN": "seenAt", "FREED": "freedAt",
    ]

    func list() async throws -> JSON { try await call(.get, "/devices", account: account) }
}

struct DeviceRename: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var device = ""
    var text: String?

    static let name = "rename"
    static let abstract = "Rename a device."
    static let discussion = "Without a name, restores the name that the app reported."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.device, "id", help: "The device's id, as 'device list' shows it."),
            .positional(\.text, "new-name", help: "The new name: at most 100 characters."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let body: JSON = ["name": text.map { .string($0) } ?? .null]
        let answer = try await call(.patch, "/devices/\(PercentEncoding.encode(device))", account: account, body)
        if options.json { console.print(answer) }
    }
}

struct DeviceRevoke: HomeCommand {
    var options = HomeOptions()
    var account = ""
    var device = ""

    static let name = "revoke"
    static let abstract = "Sign a device out and free its slot."
    static let discussion = "The slot is free immediately and does not count towards the daily limit."
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.account, "name", help: "The account's name."),
            .positional(\.device, "id", help: "The device's id, as 'device list' shows it."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        _ = try await call(.delete, "/devices/\(PercentEncoding.encode(device))", account: account)
    }
}

struct DeviceReset: OneAccountCommand {
    var options = HomeOptions()
    var account = ""

    static let name = "reset"
    static let abstract = "Sign out every device of an account and free their slots."
    static let discussion = "Also resets the count of device changes."

    func run(_ console: Console) async throws {
        let answer = try await call(.delete, "/devices", account: account)
        if options.json { return console.print(answer) }
        console.note("revoked: \(answer["revoked"]?.int ?? 0)")
    }
}
