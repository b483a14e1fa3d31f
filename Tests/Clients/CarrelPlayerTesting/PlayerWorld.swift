// SPDX-License-Identifier: Apache-2.0

import CarrelAuthority
package import CarrelBytes
package import CarrelCrypto
package import CarrelHTTP
package import CarrelHTTPServer
import CarrelHome
import CarrelLicensing
package import CarrelPlayer
package import CarrelRights
package import CarrelServer
package import CarrelStore
package import CarrelTesting
package import CarrelThreads
package import CarrelTokens
package import CarrelVault
import Glibc
import Testing

/// A server with a certificate authority on a port of its own, folders for players, and the clocks of all.
package struct PlayerWorld {
    package let directory = TemporaryDirectory()
    private let current: Locked<CarrelService>
    package let running: Locked<HTTPServer>
    package let url: String
    package let clock = ManualClock(.now())
    package let host = TestHost()

    package static let kid = KeyID(label: "film")
    package static let key = Secret(Array(0..<16))

    /// The service that answers.
    package var service: CarrelService { current.withLock(\.self) }

    package init(heartbeat: Duration = .seconds(300), database: (any Database)? = nil) async throws {
        var settings = CarrelService.Settings()
        settings.licenses.interval = heartbeat
        let service = try await CarrelService.open(
            try Home(at: directory.file("home"), missing: .create),
            database: database,
            missing: .create,
            settings: settings,
            clock: clock
        )
        current = Locked(service)
        var configuration = ServerConfiguration()
        configuration.workers = 1
        let server = HTTPServer(configuration: configuration, router: service.router)
        running = Locked(server)
        url = "http://127.0.0.1:\(try #require(try server.start().first?.port))"
    }

    package var server: HTTPServer { running.withLock(\.self) }

    /// Answers on the same port again, after a shutdown: for this service, or for another one in its place.
    package func answer(_ other: CarrelService? = nil) throws { try answer((other ?? service).router) }

    /// Puts another service in place of the one that was stopped.
    package func replace(by other: CarrelService) throws {
        current.withLock { $0 = other }
        try answer(other)
    }

    /// Answers on the same port by other routes.
    package func answer(_ router: Router) throws {
        var configuration = ServerConfiguration()
        configuration.workers = 1
        let port = try #require(UInt16(url.split(separator: ":").last ?? ""))
        configuration.listeners = [.tcp(address: "127.0.0.1", port: port)]
        let server = HTTPServer(configuration: configuration, router: router)
        _ = try server.start()
        running.withLock { $0 = server }
    }

    package func folder(_ name: String) -> String {
        let path = directory.file(name)
        unsafe mkdir(path, 0o700)
        return path
    }

    package func vault(_ folder: String, create: Bool = true) async throws -> Vault {
        let cost = try Scrypt(cost: 1024, blockSize: 8, parallelism: 1)
        return try await Vault.file(
            folder: "\(folder)/vault",
            passphrase: Secret(Array("correct horse".utf8)),
            create: create,
            scrypt: cost
        )
    }

    package func engine(
        _ folder: String,
        _ vault: Vault,
        listener: (@Sendable (PlayerTransaction) -> Void)? = nil
    ) throws -> PlayerEngine {
        let host = host
        return try PlayerEngine(
            folder: folder,
            vault: vault,
            app: .init(name: "Reader", build: "1", device: "phone"),
            clock: clock,
            hostClock: { host.read($0) },
            listener: listener
        )
    }

    /// A personalized player of a new folder.
    package func player(_ name: String = "reader") async throws -> PlayerEngine {
        let folder = folder(name)
        let engine = try engine(folder, try await vault(folder))
        try await engine.personalize(server: url)
        return engine
    }

    /// The player of a folder after its app was started again.
    package func restarted(_ engine: PlayerEngine, _ name: String = "reader") async throws -> PlayerEngine {
        await engine.shutdown()
        let folder = directory.file(name)
        return try self.engine(folder, try await vault(folder, create: false))
    }

    /// Advances both clocks of the device and the server's.
    package func wait(_ duration: Duration) {
        clock.advance(by: duration)
        host.wait(duration)
    }

    /// A sealed token for one piece of content.
    package func sealed(_ change: (inout BusinessRules) -> Void = { _ in }) async throws -> SealedToken {
        var rules = BusinessRules(kind: .license, expiresAt: clock.now + .seconds(86_400))
        rules.contents = [.init(contentID: "cid:film", keyID: Self.kid, key: Self.key)]
        rules.rights = .buyToOwn
        rules.isStorable = true
        change(&rules)
        return try await service.businessTokens.seal(rules, at: clock.now)
    }

    /// An action token that leads to this server.
    package func action(_ change: (inout BusinessRules) -> Void = { _ in }) async throws -> String {
        let place = try ActionToken.Configuration(
            serviceID: "urn:carrel:broadband:1",
            version: 1,
            location: "\(url)/hms/bb/configuration"
        )
        let sealed = try await sealed(change)
        let kind = BusinessRules.Kind(rawValue: sealed.bytes[2]).flatMap { ActionToken.Operation($0) } ?? .licenseAcquisition
        let token = try ActionToken(kind, configuration: place, businessToken: sealed.bytes)
        return String(decoding: token.write(), as: UTF8.self)
    }
}

extension PlayerWorld {
    /// An action token that joins a device to a portal's user, or takes it away.
    package func registration(_ kind: BusinessRules.Kind, of user: String) async throws -> String {
        try await action {
            var rules = BusinessRules(kind: kind, expiresAt: $0.expiresAt)
            rules.user = .init(id: user, key: Secret(Array(0..<16)))
            $0 = rules
        }
    }
}

/// The kernel's clock of a device: a boot, and the time since it.
package final class TestHost: Sendable {
    private let state = Locked((boot: 1, since: Duration.seconds(1000)))

    package func read(_ wall: any WallClock) -> HostClock {
        let (boot, since) = state.withLock(\.self)
        return HostClock(wall: wall.now, bootID: "boot \(boot)", sinceBoot: since)
    }

    package func wait(_ duration: Duration) {
        state.withLock { $0.since += duration }
    }

    package func reboot() {
        state.withLock { $0 = ($0.boot + 1, .seconds(5)) }
    }
}
