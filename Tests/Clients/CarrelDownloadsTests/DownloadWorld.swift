// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDownloads
import CarrelPlayer
import CarrelReader
import CarrelTesting
import CarrelThreads
import CarrelVault
import Testing

/// A reader's folder with a vault, and queues in it.
final class DownloadWorld: Sendable {
    let directory = TemporaryDirectory()
    let clock = ManualClock(.now())
    let server: StreamServer

    init(count: Int = 8, size: Int = 20_000) {
        server = StreamServer(count: count, size: size)
    }

    var reader: String { directory.file("reader") }

    /// A queue of the folder, as another process would have it.
    func queue(
        isLocked: Bool = false,
        _ change: (inout Downloads.Options) -> Void = { _ in }
    ) throws -> Downloads {
        var options = Downloads.Options()
        options.clock = clock
        options.pace.poll = .milliseconds(50)
        options.pace.firstPause = .milliseconds(10)
        options.pace.longestPause = .milliseconds(50)
        options.pace.batchTime = .milliseconds(20)
        options.pace.partialTime = .milliseconds(100)
        options.pace.refreshPause = .milliseconds(20)
        change(&options)
        return try Downloads(folder: reader, options: options) {
            guard !isLocked else { throw TestFailure("the passphrase is unknown") }
            return try await self.engine()
        }
    }

    /// The engine of the folder, whose vault is created by the first call.
    func engine() async throws -> PlayerEngine {
        let folder = "\(reader)/vault"
        let vault: Vault
        do throws(VaultError) {
            let passphrase = Secret(Array(Self.passphrase.utf8))
            vault = try await Vault.file(folder: folder, passphrase: passphrase, create: true, scrypt: .cheap)
        } catch {
            vault = try await Vault.file(folder: folder, passphrase: Self.passphrase)
        }
        return try PlayerEngine(folder: reader, vault: vault, app: .init(name: "test", build: "1"), clock: clock)
    }

    static let passphrase = "correct horse"

    /// The media files of an item, in their order.
    func files(of id: String) -> [[UInt8]] {
        (0..<1000).lazy.map { number in
            let name = String(repeating: "0", count: 5 - String(number).count) + String(number)
            return self.directory.read("reader/downloads/\(id)/0-1/\(name).frag")
        }.prefix { $0 != nil }.compactMap(\.self)
    }

    /// Whether the files of an item are what the server has.
    func isWhole(_ id: String, count: Int) -> Bool {
        files(of: id) == (0..<count).map { StreamServer.segment($0, server.size) }
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Downloads {
    /// Adds a stream and transfers until it ends.
    func save(_ url: String, _ change: (inout DownloadSettings) -> Void = { _ in }) async throws -> DownloadItem {
        var settings = DownloadSettings()
        change(&settings)
        let (item, _) = try await add(DownloadSource(url), settings)
        try await run(until: item.id)
        return try await self.item(item.id)
    }
}

/// Waits up to a minute.
func waitUntil(_ holds: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try await !holds() {
        guard ContinuousClock.now < deadline else { throw TestFailure("it did not come about within a minute") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

extension Scrypt {
    /// For tests.
    fileprivate static var cheap: Scrypt {
        guard let cheap = try? Scrypt(cost: 16, blockSize: 8, parallelism: 1) else {
            preconditionFailure("scrypt has no cheap cost")
        }
        return cheap
    }
}
