// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// Responses to apps that sign in, renew and register devices stay valid after `kill -9`, and no app is locked out.
struct `A server that is killed while apps sign in` {
    @Test func `keeps every session and device that it acknowledged`() async throws {
        try await check([])
    }

    @Test func `and with PostgreSQL too`() async throws {
        try await check(["--database", try await PrivatePostgres.shared().newDatabase()])
    }

    /// A token that an app was given, and its successor, if it was given one.
    private struct Given: Sendable {
        let token: String
        var successor: String?
    }

    /// The responses to one reader's apps.
    private struct Told: Sendable {
        var given: [String: Given] = [:]
        var devices: Set<String> = []
        var signIns = 0
    }

    private func check(_ database: [String]) async throws {
        let directory = TemporaryDirectory()
        let home = ["--home", directory.file("home")] + database
        try await checkProcess([DemoServer.program, "init"] + home)
        // The first half may use two devices at a time, the others any number.
        for reader in 0..<6 {
            let limit = reader < 3 ? ["--device-limit", "2"] : []
            try await checkProcess(
                [DemoServer.program, "account", "create", "reader-\(reader)", "--password-stdin"] + limit + home,
                input: Array("correct horse battery\n".utf8)
            )
        }
        let told = Locked([Told](repeating: Told(), count: 6))
        let kills = unsafe getenv("CARREL_LONG") == nil ? 3 : 60
        let options = ["--port", "0", "--quiet", "--http-trusted-proxies", "127.0.0.1"]
        for round in 0...kills {
            let server = try BackgroundProcess([DemoServer.program, "serve"] + home + options)
            let line = try await server.waitForLine(containing: "listening on http")
            let url = line.split(separator: " ").last.map(String.init) ?? ""
            for reader in 0..<6 {
                try await verify(told.withLock { $0[reader] }, App(url, reader))
            }
            guard round < kills else {
                _ = await server.terminate()
                break
            }
            await withTaskGroup(of: Void.self) { group in
                for reader in 0..<6 {
                    group.addTask {
                        let app = App(url, reader)
                        do {
                            while true { try await use(app) { change in told.withLock { change(&$0[reader]) } } }
                        } catch {
                            // the server is gone
                        }
                    }
                }
                // killed when all have signed in once more, and somewhere in the middle of what they do then
                let deadline = ContinuousClock.now + .seconds(60)
                while ContinuousClock.now < deadline, !told.withLock({ $0.allSatisfy { $0.signIns > round } }) {
                    try? await Task.sleep(for: .milliseconds(20))
                }
                try? await Task.sleep(for: .milliseconds(round * 137 % 500))
                _ = await server.kill()
            }
        }
        #expect(told.withLock { $0.allSatisfy { $0.signIns > 1 } }, "everybody signed in")
        for reader in 0..<6 {
            let list = try await DemoServer.json(["device", "list", "reader-\(reader)", "--json"] + home)
            let names = (list["devices"]?.array ?? []).compactMap { $0["name"]?.string }
            #expect(Set(names).count == names.count, "no device twice")
            #expect(told.withLock { $0[reader].devices }.subtracting(names).isEmpty, "no acknowledged device lost")
        }
    }

    /// Signs in on a device, renews, and records each response immediately.
    private func use(_ app: App, _ note: (_ change: (inout Told) -> Void) -> Void) async throws {
        var number = 0
        note { number = $0.signIns }
        let device = app.reader < 3 ? ["phone", "tablet"][number % 2] : "device-\(number)"
        // From here on it is open what becomes of the token that the device had.
        note { $0.given[device] = nil }
        let parameters = [
            "username": "reader-\(app.reader)", "password": "correct+horse+battery", "uuid": device, "device_name": device,
        ]
        let answer = try await app.ask("sign_in", parameters, from: number)
        #expect(answer.contains(">cs_"), "reader-\(app.reader) is not let in: \(answer)")
        let token = App.text(answer)
        note {
            $0.given[device] = Given(token: token)
            $0.devices.insert(device)
            $0.signIns += 1
        }
        let successor = App.text(try await app.ask("renew_token", ["token": token]))
        note { $0.given[device]?.successor = successor }
    }

    /// Every token is known, and its successor is the one that was given, or, where the answer was lost, there is one.
    private func verify(_ told: Told, _ app: App) async throws {
        for (device, given) in told.given {
            let standing = try await app.ask("verify_subscription", ["token": given.token])
            #expect(!standing.contains("sign in again"), "reader-\(app.reader) on \(device): \(standing)")
            let renewed = try await app.ask("renew_token", ["token": given.token])
            #expect(renewed.contains(">cs_"), "reader-\(app.reader) on \(device): \(renewed)")
            guard let successor = given.successor else { continue }
            #expect(App.text(renewed) == successor)
            #expect(try await app.ask("verify_subscription", ["token": successor]).contains("state=\"inactive\""))
        }
    }

    /// One reader's app.
    private struct App: Sendable {
        let url: String
        let reader: Int
        private let client = HTTPClient()

        init(_ url: String, _ reader: Int) {
            self.url = url
            self.reader = reader
        }

        /// Sends a request from one of the reader's networks, another one each time, since each has a sign-in limit; throws if
        /// the server is gone.
        func ask(_ call: String, _ parameters: [String: String], from number: Int = 0) async throws -> String {
            let form = parameters.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
            let request = ClientRequest(
                .post,
                "\(url)/\(call)/",
                headers: [
                    "Content-Type": "application/x-www-form-urlencoded",
                    "X-Forwarded-For": "10.\(reader).\(number / 250).\(number % 250 + 1)",
                ],
                body: .bytes(Array(form.utf8))
            )
            let answer = try await client.send(request)
            guard answer.status == .ok else { throw Unanswered() }
            return String(decoding: answer.body, as: UTF8.self)
        }

        /// The text between the tags.
        static func text(_ answer: String) -> String {
            guard let start = answer.firstRange(of: ">cs_") else { return "" }
            return String(answer[answer.index(after: start.lowerBound)...].prefix { $0 != "<" })
        }
    }

    private struct Unanswered: Error {}
}
