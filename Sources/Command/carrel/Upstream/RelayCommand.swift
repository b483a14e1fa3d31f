// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRelay
import CarrelRights
import CarrelServer
import CarrelSettings

struct RelayCommand: Command {
    static let name = "relay"
    static let abstract = "Relays to license servers of other vendors, such as FairPlay's."
    static let subcommands: [any Command.Type] = [RelayList.self, RelayCheckCommand.self, RelayMessage.self]
}

struct RelayList: HomeCommand {
    var options = HomeOptions()

    static let name = "list"
    static let abstract = "List the relays with the state of their license servers; keys are never shown."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)
    private static let columns: ListColumns = [
        "NAME": "name", "SERVER": "server", "KEY": "key", "STATE": "state", "FAILURE": "failure",
    ]

    func run(_ console: Console) async throws {
        let answer = try await HomeClient(options, .relays(of: options.find(), console)).call(.get, "/admin/v1/relays")
        if options.json { return console.print(answer) }
        console.print(Self.columns.table(answer["relays"]))
    }
}

struct RelayCheckCommand: HomeCommand {
    var options = HomeOptions()
    var relay = ""

    static let name = "check"
    static let abstract = "Test whether a relay's license server responds."
    static let discussion = """
        Reads relay/NAME.conf in the home; no server need run. Requests the certificate, and sends one request that no license server \
        grants, with a message under the relay's key. Exits with status 65 if a response is not one of a license server (a redirect, HTML, \
        status 404), and with 75 if there is none.
        """
    static let examples = [Example("carrel relay check fairplay", "Checks the relay of relay/fairplay.conf.")]
    static let parameters: [Parameter<Self>] =
        [.positional(\.relay, "name", help: "Name of the file, without .conf.")] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        guard UpstreamFile.isName(relay) else {
            throw UsageError(.badValue, "the name of a relay has lower-case letters, digits and '-'")
        }
        let home = try options.find()
        guard let file = try RelayFiles.file(of: home, relay, console), let settings = file.values.settings(name: relay) else {
            throw ServerError(.notFound, "there is no file \(home.relaySettingsPath(relay))")
        }
        let findings = try await RelayCheck(settings).run(at: SystemClock().now)
        if options.json {
            console.print(["calls": .array(findings.map(Self.json))])
        } else {
            var table = TextTable(["CALL", "ANSWER", "TIME", ""])
            for finding in findings {
                table.add([finding.call, finding.answer, "\(Self.milliseconds(finding)) ms", finding.verdict.rawValue])
            }
            console.print(table)
        }
        let verdicts = findings.map(\.verdict)
        if verdicts.contains(.wrong) {
            let detail = "a response of '\(relay)' is not one of a license server"
            throw ServiceProblem(status: 422, problem: ["detail": .string(detail)])
        }
        if verdicts.contains(.failed) {
            throw ServiceProblem(status: 503, problem: ["detail": .string("'\(relay)' did not respond to every call")])
        }
    }

    private static func milliseconds(_ finding: RelayCheck.Finding) -> Int64 {
        finding.duration.components.seconds * 1000 + finding.duration.components.attoseconds / 1_000_000_000_000_000
    }

    private static func json(_ finding: RelayCheck.Finding) -> JSON {
        [
            "call": .string(finding.call), "verdict": .string(finding.verdict.rawValue), "answer": .string(finding.answer),
            "milliseconds": .integer(milliseconds(finding)),
        ]
    }
}

struct RelayMessage: HomeCommand {
    var options = HomeOptions()
    var relay = ""
    var keyIDs: [String] = []
    var addresses: [String] = []
    var isPersistent = false
    var file: String?
    var id: String?
    var life = Duration.seconds(300)

    static let name = "message"
    static let abstract = "Make a license message that opens a relay, the value of X-AxDRM-Message."
    static let discussion = """
        The message is signed with the relay's key. Any client that has it can request the keys that it names until it ends: give it to \
        one player, for a short time.
        """
    static let examples = [
        Example(
            "carrel relay message fairplay --kid 211ac1dc-c8a2-4575-baf7-fa4ba56c38ac --persistent",
            "Makes a message for a license that may be stored."
        ),
        Example("carrel relay message fairplay --entitlement rules.json", "Signs an entitlement message with more rules."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.relay, "name", help: "Name of the relay."),
            .option(\.keyIDs, "--kid", value: "id", help: "Id of a key of the license server; may be repeated."),
            .flag(\.isPersistent, "--persistent", help: "Allow to store the license."),
            .option(
                \.addresses,
                "--address",
                value: "address",
                help: "Address of the client, or a network; may be repeated; default: any."
            ),
            .option(
                \.file,
                "--entitlement",
                value: "file",
                help: "A file with the whole entitlement message (JSON), instead of the options above; - reads standard input.",
                completion: .file
            ),
            .option(\.id, "--id", value: "text", help: "Id of the message, for the logs; default: a random one."),
            .option(\.life, "--valid-for", help: "Time until it ends, up to a year."),
        ] + Parameter.group(\.options)

    func validate() throws(UsageError) {
        guard UpstreamFile.isName(relay) else {
            throw UsageError(.badValue, "the name of a relay has lower-case letters, digits and '-'")
        }
        guard (file == nil) == !keyIDs.isEmpty, file == nil || (addresses.isEmpty && !isPersistent) else {
            throw UsageError(.contradiction, "name keys with --kid, or give the whole entitlement message with --entitlement")
        }
        guard keyIDs.allSatisfy({ KeyID(uuid: $0) ?? KeyID(hex: $0) != nil }) else {
            throw UsageError(.badValue, "--kid must be a UUID or 32 hexadecimal digits")
        }
        guard addresses.allSatisfy({ AddressRange($0) != nil }) else {
            throw UsageError(.badValue, "--address must be an address, or a network such as 10.0.0.0/8")
        }
    }

    func run(_ console: Console) async throws {
        var body: JSONObject = ["entitlement": try entitlement(), "expiresIn": .integer(life.components.seconds)]
        body["id"] = id.map { .string($0) }
        let path = "/admin/v1/relays/\(PercentEncoding.encode(relay))/messages"
        let answer = try await HomeClient(options, .relays(of: options.find(), console)).call(.post, path, .object(body))
        if options.json { return console.print(answer) }
        console.print(answer["message"]?.string ?? "")
    }

    private func entitlement() throws -> JSON {
        if let file {
            let bytes = try SmallFile.read(file, limit: 16_384)
            guard let json = try? JSON.parse(bytes.rawSpan), json.object != nil else {
                throw UsageError(.badValue, "--entitlement must be a file with a JSON object")
            }
            return json
        }
        let ids = keyIDs.compactMap { KeyID(uuid: $0) ?? KeyID(hex: $0) }
        var object: JSONObject = [
            "type": "entitlement_message", "version": 2, "license": ["allow_persistence": .bool(isPersistent)],
            "content_keys_source": ["inline": .array(ids.map { ["id": .string($0.uuid)] })],
        ]
        if !addresses.isEmpty {
            let list = JSON.array(addresses.map { .string($0) })
            object["license_server"] = ["access_control": ["allowed_ip_addresses": list]]
        }
        return .object(object)
    }
}

extension CarrelService.Settings {
    /// Settings with the relays of a home, if no server is running.
    fileprivate static func relays(of home: Home, _ console: Console) throws -> Self {
        var settings = Self()
        settings.relays = try RelayFiles(home: home, console: console).settings
        return settings
    }
}
