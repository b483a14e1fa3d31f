// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Testing

/// A relay as an operator sets it up: a file in the home, a server in a process of its own, and a license server in another.
struct `A relay that an operator sets up` {
    private let directory = TemporaryDirectory()
    private let received = Locked<[(target: String, body: [UInt8])]>([])
    private let licenses: LoopbackServer
    private static let key = String(repeating: "a7", count: 32)

    init() {
        let received = received
        licenses = LoopbackServer { connection in
            while let request = connection.readRequest() {
                received.withLock { $0.append((request.target, request.body)) }
                switch request.target {
                case "/certificate": connection.respond(200, body: [1, 2, 3])
                case "/ckc": connection.respond(200, ["X-AxDRM-Identity: tenant"], body: request.body.reversed())
                default: connection.respond(404, ["Content-Type: text/html"], body: Array("<html>".utf8))
                }
            }
        }
    }

    private func write(
        _ path: String,
        as name: String = "fairplay",
        id: String = "11111111-2222-3333-4444-555555555555",
        key: String = Self.key
    ) async throws {
        try await checkProcess(["mkdir", "-p", directory.file("home/relay")])
        let text = """
            relay.url = http://127.0.0.1:\(licenses.port)\(path)
            relay.certificate-url = http://127.0.0.1:\(licenses.port)/certificate
            relay.key-id = \(id)
            relay.key = \(key)

            """
        let file = directory.write("home/relay/\(name).conf", text)
        try await checkProcess(["chmod", "600", file])
    }

    private func carrel(_ arguments: String...) async throws -> ProcessResult {
        try await runProcess([DemoServer.program] + arguments + ["--home", directory.file("home")])
    }

    @Test func `is checked, listed and opened by commands, and never shows its key`() async throws {
        let spc = [UInt8](0...255)
        #expect(try await carrel("init").status.isSuccess)
        #expect(try await carrel("relay", "list", "--json").errorText.isEmpty)
        #expect(try await carrel("relay", "check", "fairplay").status == .exited(66))
        try await write("/nothing")
        #expect(try await carrel("relay", "check", "fairplay").status == .exited(65), "an HTML page is no license server")
        try await write("/ckc")
        let check = try await carrel("relay", "check", "fairplay", "--json")
        #expect(check.status.isSuccess && check.errorText.isEmpty, "\(check.errorText)")
        let settings = try await carrel("config", "check", "--json")
        #expect(settings.status.isSuccess && String(decoding: settings.output, as: UTF8.self).contains("\"fairplay\""))
        // without a server, and with one
        let kid = "00112233445566778899aabbccddeeff"
        let message = try await carrel("relay", "message", "fairplay", "--kid", kid, "--valid-for", "1h")
        #expect(message.status.isSuccess, "\(message.errorText)")
        let token = String(decoding: message.output, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
        let server = try BackgroundProcess([DemoServer.program, "serve", "--home", directory.file("home"), "--port", "0"])
        let line = try await server.waitForLine(containing: "listening on http")
        let url = line.split(separator: " ").last.map(String.init) ?? ""
        let path = directory.write("spc", spc)
        let before = received.withLock(\.count)
        func post(_ fields: String...) async throws -> String {
            let all = ["Content-Type: application/octet-stream"] + fields
            let output = directory.file("ckc")
            return try await checkProcess(
                ["curl", "-s", "-o", output, "-w", "%{http_code}", "--data-binary", "@\(path)"] + all.flatMap { ["-H", $0] }
                    + ["\(url)/v1/relay/fairplay"]
            )
        }
        #expect(try await post() == "403")
        #expect(received.withLock(\.count) == before, "nothing was sent")
        #expect(try await post("X-AxDRM-Message: \(token)") == "200")
        #expect(directory.read("ckc") == spc.reversed())
        #expect(received.withLock { $0.last?.body } == spc)
        let listed = try await carrel("relay", "list")
        let text = String(decoding: listed.output, as: UTF8.self)
        #expect(text.contains("fairplay") && text.contains("available"))
        let made = try await carrel("relay", "message", "fairplay", "--kid", kid, "--address", "10.0.0.1")
        let elsewhere = String(decoding: made.output, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
        #expect(try await post("X-AxDRM-Message: \(elsewhere)") == "403")
        let certificate = try await checkProcess(["curl", "-s", "\(url)/v1/relay/fairplay/certificate"])
        #expect(Array(certificate.utf8) == [1, 2, 3])
        for result in [check, settings, message, listed, made] {
            let shown = String(decoding: result.output, as: UTF8.self) + result.errorText
            #expect(!shown.contains(Self.key))
        }
        #expect(!server.errors.contains(Self.key) && !server.errors.contains(token))
        _ = await server.terminate()
    }

    @Test func `does not let a server start on a file that could not work`() async throws {
        #expect(try await carrel("init").status.isSuccess)
        try await checkProcess(["mkdir", "-p", directory.file("home/relay")])
        _ = directory.write("home/relay/fairplay.conf", "relay.url = https://drm.example.org/\n")
        let result = try await carrel("serve", "--port", "0")
        #expect(!result.status.isSuccess && result.errorText.contains("relay.key"), "\(result.errorText)")
    }

    @Test(arguments: [
        ("11111111-2222-3333-4444-555555555555", String(repeating: "b8", count: 32), "relay.key-id"),
        ("11111111-2222-3333-4444-666666666666", String(repeating: "a7", count: 32), "relay.key"),
    ])
    func `does not let a server start with one key for two relays`(id: String, key: String, setting: String) async throws {
        #expect(try await carrel("init").status.isSuccess)
        try await write("/ckc")
        try await write("/ckc", as: "other", id: id, key: key)
        for arguments in [["serve", "--port", "0"], ["config", "check"]] {
            let result = try await runProcess([DemoServer.program] + arguments + ["--home", directory.file("home")])
            #expect(!result.status.isSuccess && result.errorText.contains("\(setting) is the same as in"), "\(result.errorText)")
            #expect(!result.errorText.contains(key))
        }
    }

    @Test(arguments: [
        ["relay", "message", "fairplay"], ["relay", "message", "fairplay", "--kid", "x"], ["relay", "check", "../x"],
        ["relay", "message", "fairplay", "--kid", "00112233445566778899aabbccddeeff", "--entitlement", "-"],
        ["relay", "message", "fairplay", "--kid", "00112233445566778899aabbccddeeff", "--address", "here"],
        ["content-key", "set", "00112233445566778899aabbccddeeff"], ["config", "sample", "--relay", "--upstream"],
    ])
    func `refuses parameters that mean nothing`(arguments: [String]) async throws {
        let result = try await runProcess([DemoServer.program] + arguments)
        #expect(result.status == .exited(64), "\(result.errorText)")
    }
}
