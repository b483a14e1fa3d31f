// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCatalog
import CarrelCrypto
package import CarrelHTTP
package import CarrelHome
import CarrelIngest
package import CarrelJSON
package import CarrelOrders
import CarrelPackager
import CarrelPostgres
package import CarrelServer
import CarrelStore
package import CarrelTesting
import CarrelWorks

/// A service on a home of its own, with a clock that the test moves: all of it, or the capabilities that the test is about.
package struct TestService {
    /// The initial contents of the catalog.
    package enum Contents {
        case nothing
        /// A title made of frames that need no encoder, ``TestService/title``.
        case silence
    }

    package let directory: TemporaryDirectory
    package let clock: ManualClock
    package let service: CarrelService
    /// The address of its PostgreSQL database; nil if it uses SQLite.
    package let address: String?
    private let silence: Title?

    package static let isbn = "9780306406157"

    /// A title of ten minutes: silent MPEG-1 Layer III frames of 64 kbit/s at 44.1 kHz, in 60 segments.
    package var title: Title {
        guard let silence else { preconditionFailure("this service was made without a title: TestService(.silence)") }
        return silence
    }

    package init(
        _ contents: Contents = .nothing,
        with capabilities: Capabilities = .all,
        at start: Instant = Instant(milliseconds: 1_800_000_000_000),
        _ configure: (inout CarrelService.Settings) -> Void = { _ in }
    ) async throws {
        directory = TemporaryDirectory()
        clock = ManualClock(start)
        let home = try Home(at: directory.path)
        var settings = CarrelService.Settings()
        configure(&settings)
        try home.make()
        address = try await PreparedDatabase.place(in: home)
        let database = try Self.database(home, address)
        service = try await CarrelService.open(
            home,
            database: database,
            missing: .create,
            settings: settings,
            clock: clock,
            leavingOut: capabilities.leavesOut
        )
        silence = contents == .silence ? try await Self.ingestSilence(in: service, directory) : nil
    }

    private static func ingestSilence(in service: CarrelService, _ directory: TemporaryDirectory) async throws -> Title {
        let path = directory.write("silence.mp3", SilentMP3.frames(600 * 44_100 / 1152))
        var options = IngestOptions()
        options.overrides.title = "Silence"
        options.overrides.authors = ["Nobody"]
        options.overrides.isbn = ISBN(Self.isbn)
        return try await service.ingesting.ingest(path, options).title
    }

    private static func database(_ home: Home, _ address: String?) throws -> any Database {
        guard let address else { return try SQLiteDatabase(path: home.databasePath, migrations: Schema.migrations) }
        return try PostgresDatabase(address, migrations: Schema.migrations, connections: 4)
    }

    /// A service on the same state as another process has it: with connections and a memory of its own.
    ///
    /// - Parameters:
    ///   - home: where its files are; nil means in the same home.
    ///   - configure: changes its settings.
    /// - Returns: the service, with the same clock.
    /// - Throws: what opening it throws.
    package func another(
        in home: Home? = nil,
        _ configure: (inout CarrelService.Settings) -> Void = { _ in }
    ) async throws -> CarrelService {
        let database = try Self.database(Home(at: directory.path), address)
        let place = if let home { home } else { try Home(at: directory.path) }
        var settings = CarrelService.Settings()
        configure(&settings)
        return try await CarrelService.open(place, database: database, settings: settings, clock: clock)
    }

    /// Sends a request to the router, in process. By default it comes over the network, without credentials.
    package func send(
        _ method: HTTPMethod,
        _ target: String,
        headers: HTTPFields = [:],
        body: JSON? = nil,
        peer: Peer = .network(address: "192.0.2.1", port: 1)
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        var headers = headers
        if body != nil { headers["Content-Type"] = "application/json" }
        let request = HTTPRequest(method, target, headers: headers, body: body?.write() ?? [], peer: peer)
        let response = await service.router.respond(to: request)
        return (response.status.rawValue, response.headers, try await response.body.collect(upTo: 64 << 20))
    }

    /// The same, for answers that are JSON.
    package func call(
        _ method: HTTPMethod,
        _ target: String,
        headers: HTTPFields = [:],
        body: JSON? = nil,
        peer: Peer = .network(address: "192.0.2.1", port: 1)
    ) async throws -> (status: Int, json: JSON) {
        let answer = try await send(method, target, headers: headers, body: body, peer: peer)
        return (answer.status, answer.body.isEmpty ? .null : try JSON.parse(answer.body.rawSpan))
    }

    /// Places an order as the operator would.
    package func order(_ request: Orders.Request? = nil) async throws -> Order {
        try await service.orders.place(request ?? Orders.Request(account: "alice", titleID: title.id)).order
    }

    /// The addresses in a media playlist: of the key and of the segments.
    package func playlist(_ order: Order, query: String = "") async throws -> (key: String, segments: [String], text: String) {
        let base = "/v1/stream/hls/\(order.id)/"
        let text = String(decoding: try await send(.get, "\(base)playlist.m3u8\(query)").body, as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        let key = lines.first { $0.hasPrefix("#EXT-X-KEY") }?.split(separator: "\"").dropFirst().first.map(String.init) ?? ""
        return (key, lines.filter { !$0.hasPrefix("#") }.map { base + $0 }, text)
    }
}

/// MP3 files of silence, made without an encoder: a frame header and zeros decode to nothing.
package enum SilentMP3 {
    /// MPEG-1 Layer III, 64 kbit/s, 44.1 kHz, mono: 208 bytes, or 209 with the padding byte.
    package static func frames(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var owed = 0
        for _ in 0..<count {
            owed += 144 * 64_000 % 44_100
            let padded = owed >= 44_100
            if padded { owed -= 44_100 }
            bytes += [0xff, 0xfb, padded ? 0x52 : 0x50, 0xc0]
            bytes += [UInt8](repeating: 0, count: padded ? 205 : 204)
        }
        return bytes
    }
}

extension IngestPipeline.Outcome where Entry == Title {
    package var title: Title { entry }
}

extension IngestPipeline.Outcome where Entry == Edition {
    package var edition: Edition { entry }
}
