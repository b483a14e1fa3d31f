// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelServer
import CarrelTesting
import Testing

/// The server of a device that does not answer as a license server does.
@Suite(.serialized) struct `A license server that` {
    /// A fault, with the words of its error for the first response, and for the license alone.
    enum Fault: CaseIterable, Sendable {
        case stalls, redirects, sendsHTML, sendsTooMuch, fails

        var words: (first: String, license: String) {
            switch self {
            case .stalls: ("the server does not answer", "the server does not answer")
            case .redirects: ("status 302", "status 302")
            case .sendsHTML: ("not the configuration of a license service", "not a license")
            case .sendsTooMuch: ("longer than 32768 bytes", "longer than 16777216 bytes")
            case .fails: ("status 500", "status 500")
            }
        }

        func response() async throws -> HTTPResponse {
            switch self {
            case .stalls:
                try await Task.sleep(for: .seconds(30))
                return HTTPResponse(.noContent)
            case .redirects: return HTTPResponse(.found, headers: ["Location": "/elsewhere"])
            case .sendsHTML:
                return HTTPResponse(headers: ["Content-Type": "text/html"], body: .bytes(Array("<html>welcome</html>".utf8)))
            case .sendsTooMuch:
                return HTTPResponse(body: .bytes([UInt8](repeating: 0x20, count: 17 << 20)))
            case .fails: return HTTPResponse(.internalServerError, body: .bytes(Array("<html>sorry</html>".utf8)))
            }
        }
    }

    /// Connections that are established to a port of this machine.
    private static func connections(to url: String) throws -> Int {
        let port = Int(url.split(separator: ":").last ?? "") ?? 0
        let ending = ":" + String(port + 0x10000, radix: 16, uppercase: true).dropFirst()
        let table = String(decoding: try #require(Fixtures.bytes(at: "/proc/net/tcp")), as: UTF8.self)
        return table.split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            return fields.count > 3 && fields[2].hasSuffix(ending) && fields[3] == "01"
        }
    }

    @Test(arguments: Fault.allCases, [true, false])
    func `answers wrongly gives a clear error, and leaves nothing`(fault: Fault, isFirst: Bool) async throws {
        let world = try await PlayerWorld()
        let folder = world.folder("reader")
        func engine(creates: Bool = false) async throws -> PlayerEngine {
            try PlayerEngine(
                folder: folder,
                vault: try await world.vault(folder, create: creates),
                app: .init(name: "Reader", build: "1"),
                timeouts: ClientTimeouts(connect: .seconds(1), total: .seconds(2), stall: .seconds(1)),
                clock: world.clock,
                hostClock: { world.host.read($0) }
            )
        }
        let player = try await engine(creates: true)
        try await player.personalize(server: world.url)
        let token = try await world.action()
        await world.server.shutdown(grace: .seconds(1))
        var router = Router()
        let service = world.service.router
        router.on(.post, "{path...}", acceptsForms: true, acceptsOtherOrigins: true) { request, _ in
            if isFirst || request.path.raw == "/v1/license" { return try await fault.response() }
            return await service.respond(to: request)
        }
        router.on(.get, "{path...}") { request, _ in
            if isFirst { return try await fault.response() }
            return await service.respond(to: request)
        }
        try world.answer(router)

        let keys = LicenseKeys(player)
        let start = ContinuousClock.now
        await keys.receive(licenseToken: token)
        #expect(ContinuousClock.now - start < .seconds(4))
        let reason = try #require(await keys.tokenFailure)
        #expect(reason.contains(isFirst ? fault.words.first : fault.words.license), "\(reason)")
        #expect(!reason.contains(token.suffix(40)))
        guard case .refused = await keys.key(.content("cid:film")) else { throw TestFailure("a key without a license") }
        #expect(try await player.licenses().licenses(after: "", limit: 1).isEmpty)
        await keys.end()
        await player.shutdown()
        // a server that may still answer is not waited for
        if fault == .stalls { try await waitUntil { try Self.connections(to: world.url) == 0 } }
        await world.server.shutdown(grace: .seconds(1))

        // the token was not used up, and the folder is as before
        try world.answer()
        let again = try await engine()
        #expect(try await again.process(token).license.isEmpty == false)
        await again.shutdown()
    }
}
