// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCommandLine
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights

struct ContentKeyImport: HomeCommand {
    var options = HomeOptions()
    var file = ""
    var recipient: String?
    var owner: String?
    var content: String?

    static let name = "import"
    static let abstract = "Add the keys of a CPIX document."
    static let discussion = """
        Packagers get the keys back for the content that the document names. This command decrypts the document: the recipient's private key \
        never reaches the server. An existing key is never replaced: another key under the same id, or the same key for another content, is \
        refused, and the keys before it stay. A document may be imported again.
        """
    static let examples = [
        Example("carrel content-key import keys.xml", "Adds keys in the clear."),
        Example("carrel content-key import keys.xml --recipient packager.pem", "Decrypts the keys with a private key."),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.file, "file", help: "The document: CPIX 2.3 or 2.4."),
            .option(\.recipient, "--recipient", value: "key", help: CPIXFile.recipientHelp),
            .option(
                \.owner,
                "--for",
                value: "key-id",
                help: "The back-office key of the portal that alone may name the keys; default: all."
            ),
            .option(\.content, "--content", value: "id", help: "The content id; default: the one in the document."),
        ] + Parameter.group(\.options)

    func run(_ console: Console) async throws {
        let document = try CPIXFile.read(file, recipient: recipient, console)
        let keys: [(key: CPIXKey, secret: Secret)]
        do throws(CPIXError) { keys = try document.clearKeys() } catch { throw UnusableCPIX(path: file, error: error) }
        guard let content = content ?? document.contentID else {
            throw UsageError(.missingValue, "\(file) names no content: pass its id with --content")
        }
        let client = try await HomeClient(options)
        for (key, secret) in keys {
            var body: JSONObject = [
                "key": .string(secret.withBytes { Hex.encode([UInt8](copying: $0)) }), "content": .string(content),
            ]
            body["owner"] = owner.map { .string($0) }
            _ = try await client.call(.put, "/admin/v1/content-keys/\(key.id.hex)", .object(body))
        }
        let ids = keys.map { JSON.string($0.key.id.hex) }
        let warnings = document.warnings.map { JSON.string($0.message) }
        show(
            ["content": .string(content), "kids": .array(ids), "warnings": .array(warnings)],
            as: "added \(keys.count == 1 ? "1 key" : "\(keys.count) keys") of \(content)",
            console
        )
    }
}
