// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelPlayer
import Glibc

struct TokenRedeem: ReaderCommand {
    var engine = ReaderEngine()
    var token = ""
    var tag = ""
    var priority = 0

    static let name = "redeem"
    static let abstract = "Redeem a token for a license."
    static let discussion = """
        The token is a compound URL, a license message (JWT), the file of an action token (XML), or - for standard input. It can be repeated \
        after every failure: the same token gives the same license to this device. The license of a compound URL is for a stream that plays \
        now; it is not kept. An action token of a registration joins this device to a user of the portal.
        """
    static let examples = [
        Example("carrel token redeem token.xml", "Puts the license of an action token into the store."),
        Example("carrel token redeem - --json < token.jwt", "Redeems a license message."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.token, "token", help: "A URL, a JWT, the name of an XML file, or - for standard input."),
            .option(\.tag, "--tag", value: "text", help: "A text of your own for the license, such as a shelf."),
            .option(
                \.priority,
                "--priority",
                help: "Of several licenses for one content, the one with the greatest priority is used."
            ),
        ] + Parameter.group(\.engine)

    func run(_ console: Console) async throws {
        let text = try TokenText.read(token)
        guard try !ServiceToken(text).isRegistration else { return try await register(text, console) }
        let redeemed = try await engine.use(console) { engine in
            try await engine.process(text, tag: tag, priority: priority)
        }
        if engine.json {
            return console.print([
                "content": .string(redeemed.contentID), "license": .string(redeemed.license),
                "until": redeemed.until.map { .string($0.description) } ?? .null,
            ])
        }
        console.print("license \(redeemed.license)")
        console.print("content \(redeemed.contentID)")
        console.print(redeemed.until.map { "until \($0)" } ?? "without an end")
        if !redeemed.isStored {
            console.note("the license is for a stream that plays now: it is not kept, and holds its place for a few minutes")
        }
    }
}

extension TokenRedeem {
    private func register(_ text: String, _ console: Console) async throws {
        let link = try await engine.use(console) { try await $0.register(text) }
        if engine.json {
            return console.print([
                "user": .string(link.user), "until": link.expiresAt.map { .string($0.description) } ?? .null,
            ])
        }
        console.print(
            link.expiresAt.map { "this device belongs to the user \(link.user) until \($0)" }
                ?? "this device does not belong to the user \(link.user) any longer"
        )
    }
}

struct TokenShow: Command {
    var output = OutputOptions()
    var token = ""

    static let name = "show"
    static let abstract = "Show the readable parts of a token; the token itself is not printed."
    static let discussion = "Nothing is sent, and whether the token is genuine, only its service knows."
    static let parameters: [Parameter<Self>] =
        [.positional(\.token, "token", help: "A URL, a JWT, the name of an XML file, or - for standard input.")]
        + Parameter.group(\.output)

    func run(_ console: Console) async throws {
        let token = try ServiceToken(try TokenText.read(token))
        if output.json {
            var object: JSONObject = ["form": .string(token.form.rawValue)]
            for (name, value) in token.details { object[name] = .string(value) }
            return console.print(.object(object))
        }
        console.print("form \(token.form.rawValue)")
        for (name, value) in token.details { console.print("\(name) \(value)") }
    }
}

/// Reads a token argument: the token itself, the name of a file, or standard input.
enum TokenText {
    static func read(_ argument: String) throws -> String {
        if argument == "-" { return try file("/dev/stdin") }
        let isMessage = argument.split(separator: ".").count == 3 && argument.utf8.count > 100
        if argument.contains("://") || isMessage { return argument }
        // A mistyped token is not a file's name, and is not printed.
        let isName = argument.utf8.count <= 200 && !argument.contains("?b=") && !argument.hasPrefix("eyJ")
        guard isName else { throw UsageError(.badValue, "the argument is neither a whole token nor the name of a file") }
        return try file(argument)
    }

    private static func file(_ path: String) throws -> String {
        let bytes = try LicenseOptions.read(path, atMost: ServiceToken.maxByteCount + 1)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw UsageError(.badValue, "the token is not text") }
        return text
    }
}
