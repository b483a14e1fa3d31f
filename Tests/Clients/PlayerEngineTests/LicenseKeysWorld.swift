// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

/// A protected file of the fixtures, and the license that a player of a world has for it.
struct LicensedNote {
    static let content = "cid:shared/note.txt"
    static let key = Secret(Hex.decode("4151ee2a6a25190e8d1e9bb2a4f6b640") ?? [])
    static let path = "media/dcf/note.ctr.dcf"

    let world: PlayerWorld
    let engine: PlayerEngine
    /// The license's id.
    let license: String

    /// - Parameters:
    ///   - world: the server and the device.
    ///   - change: of the token.
    /// - Throws: the errors of the server and the player.
    init(_ world: PlayerWorld, _ change: (inout BusinessRules) -> Void = { _ in }) async throws {
        self.world = world
        engine = try await world.player()
        license = try await engine.process(
            try await world.action { rules in
                rules.contents = [.init(contentID: Self.content, keyID: KeyID(label: "note"), key: Self.key)]
                rules.outputControlOverride = .init(imageConstraintLevel: 0)
                change(&rules)
            }
        ).license
    }

    static func clear() throws -> [UInt8] { try #require(Fixtures.bytes(at: try Fixtures.path("media/src/note.txt"))) }

    /// A stream of the file under a use of its own.
    func stream(_ keys: LicenseKeys? = nil) async throws -> MediaStream {
        try await MediaStream.open(
            FileSource(path: try Fixtures.path(Self.path)),
            as: .dcf(),
            keys: keys ?? LicenseKeys(engine),
            clock: world.clock
        )
    }

    /// The plays on the disk, as another process would see them.
    func plays() async throws -> Int? { try await engine.licenses().license(license)?.plays }

    /// Replaces the license as a renewal does, under changed terms, signed by the service.
    func reissue(_ change: (inout JSONObject) -> Void) async throws {
        let data = try #require(try await engine.licenses().license(license)?.data)
        try await engine.addLicense(try await world.reissued(data, change))
    }
}

extension Instant {
    /// Seconds since 1970, as licenses write times.
    var seconds: JSON { .integer(milliseconds / 1000) }
}

/// Waits for up to ten seconds.
func waitUntil(_ holds: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<200 {
        if try await holds() { return }
        try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record("it does not come true", sourceLocation: sourceLocation)
}
