// SPDX-License-Identifier: Apache-2.0

import CRightsLoops
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTPServer
import CarrelJOSE
import CarrelHome
import CarrelPlayer
import CarrelRights
import CarrelServer
import CarrelStore
import CarrelVault
import Glibc

/// A player's store with 100,000 licenses.
struct Device {
    static let count = 100_000
    /// Licenses that are looked for, all over the store.
    private static let looked = 2000
    let folder: String

    private var reader: String { "\(folder)/reader" }
    private static var terms: LicenseTerms {
        var terms = LicenseTerms()
        terms.isStorable = true
        terms.playbackSeconds = 172_800
        terms.notAfter = Instant.now() + .seconds(86_400 * 30)
        return terms
    }

    private static func content(_ number: Int) -> String { "cid:title-\(number)" }
    private static var contents: [String] { (0..<looked).map { content($0 * 7919 % count) } }

    private func vault(create: Bool) async throws -> Vault {
        try await Vault.file(
            folder: "\(reader)/vault",
            passphrase: Secret(Array("correct horse".utf8)),
            create: create,
            scrypt: try Scrypt(cost: 1024, blockSize: 8, parallelism: 1)
        )
    }

    private func engine(_ vault: Vault) throws -> PlayerEngine {
        try PlayerEngine(folder: reader, vault: vault, app: .init(name: "Reader", build: "1", device: "phone"))
    }

    /// Personalises a player with a server of this process, and fills its store.
    private func filled() async throws -> (engine: PlayerEngine, vault: Vault, keys: ServiceKeys, sample: License) {
        unsafe mkdir(reader, 0o700)
        let service = try await CarrelService.open(try Home(at: "\(folder)/home", missing: .create), missing: .create)
        let server = HTTPServer(configuration: ServerConfiguration(), router: service.router)
        guard let port = try server.start().first?.port else { fatalError("the server has no port") }
        let vault = try await vault(create: true)
        let engine = try engine(vault)
        let player = try await engine.personalize(server: "http://127.0.0.1:\(port)").player
        let keys = try await service.authority.keys()
        guard let point = try await vault.publicKey(named: "player.agree") else { fatalError("the player has no key") }
        let kid = KeyID(label: "film")
        let sealed = License.seal(.random(count: 16), id: kid, license: "license", to: point)
        let terms = Self.terms
        let now = Instant.now().wholeSecond
        @Sendable func license(_ number: Int) -> License {
            License(
                id: Random.uuid(),
                sequence: 1,
                player: player,
                contentID: Self.content(number),
                request: Random.bytes(32),
                nonce: Base64URL.encode(Random.bytes(40)),
                issuedAt: now,
                terms: terms,
                obligations: [Obligation(.noExport, isCritical: true), Obligation(.metering, isCritical: true)],
                keys: [License.Key(id: kid, sealed: sealed)],
                minimumRevocations: 0
            )
        }
        let signer = keys.license
        let start = time(CLOCK_MONOTONIC)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<64 {
                group.addTask {
                    for number in stride(from: lane, to: Self.count, by: 64) {
                        try await engine.addLicense(license(number).signed(by: signer))
                    }
                }
            }
            try await group.waitForAll()
        }
        print("\(Self.count) licenses kept in \(rounded(time(CLOCK_MONOTONIC) - start)) s")
        await server.shutdown(grace: .seconds(1))
        await service.database.close()
        return (engine, vault, keys.document, license(0))
    }

    func measure() async throws {
        let (engine, vault, keys, sample) = try await filled()
        let path = "\(reader)/player.sqlite"
        var sealed = [UInt8](repeating: 0, count: 1024)
        sealed.removeLast(1024 - (unsafe rights_store_value(path, "key", &sealed, 1024)))
        let key = try await vault.open(sealed, associated: Array("carrel license store 1".utf8))
        let index = HMACSHA256(key: key)
        let contents = Self.contents
        let digests = contents.flatMap { content in
            let message = Array("content\n\(content)".utf8)
            return index.authenticate(message.rawSpan).prefix(16)
        }
        let bytes = key.withBytes { [UInt8](copying: $0) }
        guard let used = keys.keys.first(where: { $0.use == .license }), case .ed25519(let signer) = used.key else {
            fatalError("no key")
        }
        var granted = 0
        try await report("stored license loaded and checked", times: contents.count) {
            for content in contents { granted += try await engine.check(content).result.isGranted ? 1 : 0 }
        } floor: {
            let right = unsafe rights_loop_check(path, digests, contents.count, bytes, signer.bytes, Int32(contents.count))
            precondition(right == contents.count)
        }
        precondition(granted == rounds * contents.count)
        var host = HostCapabilities()
        host.obligations = [Obligation.Kind.noExport.rawValue, Obligation.Kind.metering.rawValue]
        let evaluation = Evaluation(
            player: sample.player,
            serial: "00",
            host: host,
            time: .init(instant: .now(), certainty: .signed),
            revocations: nil
        )
        var record = LicenseRecord(sample)
        record.firstPlay = .now()
        let times = 100_000
        let spent = await seconds { for _ in 0..<times { precondition(evaluation.check(.play, record).isGranted) } }
        print("check of a loaded license: \(rounded(spent / Double(times) * 1e6)) µs")
        await engine.shutdown()
    }

    /// Finds licenses in a process that did nothing else, and prints its time and memory.
    func find() async throws {
        let engine = try engine(try await vault(create: false))
        var times: [Double] = []
        for content in Self.contents {
            let start = time(CLOCK_MONOTONIC)
            let isGranted = try await engine.check(content).result.isGranted
            precondition(isGranted)
            times.append((time(CLOCK_MONOTONIC) - start) * 1e3)
        }
        times.sort()
        print(
            "found among \(Self.count): \(rounded(times[times.count / 2])) ms, 99th percentile",
            "\(rounded(times[times.count * 99 / 100])) ms, at most \(rounded(times[times.count - 1])) ms"
        )
        for line in try status() where line.hasPrefix("VmHWM") || line.hasPrefix("RssAnon") { print("  \(line)") }
        await engine.shutdown()
    }

    private func status() throws -> [String] {
        guard let file = unsafe fopen("/proc/self/status", "r") else { return [] }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
