// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelJSON
import CarrelPlayer
import CarrelVault

struct DeviceLink: Command {
    var folder = ReaderFolder()
    var vault = VaultOptions()

    static let name = "link"
    static let abstract = "Link this device to an account, with a code that its reader types."
    static let discussion = """
        Prints an address and a code, and waits at most ten minutes until a signed-in reader types the code there and says yes. Only this \
        device is linked by the code. With --json it prints two lines: the event "code" immediately, and the event "linked" at the end.
        """
    static let parameters: [Parameter<Self>] = Parameter.group(\.folder) + Parameter.group(\.vault)

    var output: OutputOptions { folder.output }

    func run(_ console: Console) async throws {
        let path = try folder.path()
        // before a vault is opened, or made
        guard try PlayerEngine.identity(of: path) != nil else { throw NotPersonalized(folder: path) }
        let engine = try await DevicePersonalize.engine(folder, vault, name: nil, console)
        let json = folder.json
        let link = try await engine.link { code in
            if json {
                let event: JSON = [
                    "event": "code", "code": .string(code.letters), "address": .string(code.address),
                    "completeAddress": .string(code.completeAddress),
                ]
                console.print(event.description)
            } else {
                console.print("code \(code.letters)")
                console.print("type it at \(code.address)")
                console.print("or open \(code.completeAddress)")
            }
        }
        let player = await engine.identity?.player ?? ""
        await engine.shutdown()
        if json {
            let event: JSON = [
                "event": "linked", "player": .string(player), "account": .string(link.account),
                "linkExpiresAt": link.expiresAt.map { .string($0.description) } ?? .null,
            ]
            return console.print(event.description)
        }
        console.print("linked to \(link.account)\(link.expiresAt.map { " until \($0)" } ?? "")")
    }
}

struct DeviceRequest: Command {
    var folder = ReaderFolder()
    var vault = VaultOptions()
    var deviceName: String?

    static let name = "request"
    static let abstract = "Write a signed request for a certificate, for a device without a network."
    static let discussion = """
        Staff turn the request into a bundle with 'carrel player certify', within 30 days; 'carrel device insert' takes the bundle. A later \
        request replaces this one.
        """
    static let examples = [
        Example("carrel device request --home usb/reader > request.jose", "Writes the request to a file.")
    ]
    static let parameters: [Parameter<Self>] =
        [
            .option(
                \.deviceName,
                "--name",
                value: "text",
                help: "The device's name in the server's lists; default: the host's name."
            )
        ] + Parameter.group(\.folder) + Parameter.group(\.vault)

    var output: OutputOptions { folder.output }

    func run(_ console: Console) async throws {
        let engine = try await DevicePersonalize.engine(folder, vault, name: deviceName, console)
        let text = try await engine.offlineRequest()
        await engine.shutdown()
        folder.json ? console.print(["request": .string(text)]) : console.print(text)
    }
}

struct DeviceInsert: Command {
    var bundle = ""
    var folder = ReaderFolder()
    var vault = VaultOptions()

    static let name = "insert"
    static let abstract = "Take a certificate from the file that 'carrel player certify' wrote."
    static let discussion = """
        The first bundle decides which root this device trusts: compare the fingerprint that is printed with that of 'carrel player certify'. \
        Later bundles must be under the same root, or one that it signed.
        """
    static let parameters: [Parameter<Self>] =
        [.positional(\.bundle, "bundle", help: "The file; - reads standard input.", completion: .file)]
        + Parameter.group(\.folder) + Parameter.group(\.vault)

    var output: OutputOptions { folder.output }

    func run(_ console: Console) async throws {
        let bytes = try SmallFile.read(bundle, limit: PlayerEngine.maxBundleByteCount)
        // before a vault is opened, or made
        guard try PlayerEngine.vaultKind(of: try folder.path()) != nil else {
            throw PlayerError(.rejected, "this player waits for no bundle: write a request first ('carrel device request')")
        }
        let engine = try await DevicePersonalize.engine(folder, vault, name: nil, console)
        let inserted = try await engine.insert(bundle: bytes)
        await engine.shutdown()
        if inserted.isFirstContact { console.note("trusts the root with the SHA-256 fingerprint \(inserted.rootFingerprint)") }
        DeviceShow.print(
            inserted.identity,
            json: folder.json,
            console,
            more: ["rootFingerprint": .string(inserted.rootFingerprint)]
        )
    }
}
