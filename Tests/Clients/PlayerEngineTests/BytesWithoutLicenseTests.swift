// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPlayerRights
import CarrelProxy
import CarrelPlayerTesting
import CarrelTesting
import Testing

/// The public calls of the products that connect licenses to media: each that returns bytes, keys or rights fails without the license.
@Suite(.serialized) struct `A public call that returns bytes` {
    /// The calls that this suite knows, by target and signature. What they return without a license is tested below.
    private static let calls: Set<String> = [
        "CarrelLicenseKeys: func key(_ name: ContentKeyName) async -> ContentKeyAnswer",
        "CarrelLicenseKeys: func newUse() -> any CountedKeySource",
        // bytes as the server sent them, which no license protects
        "CarrelLicenseKeys: func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse",
        "CarrelLicenseKeys: func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse",
        "CarrelPlayerRights: func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer",
    ]

    /// The public functions of the targets that return a value.
    private static func found() async throws -> Set<String> {
        var found: Set<String> = []
        for target in ["CarrelLicenseKeys", "CarrelPlayerRights"] {
            let files = try await checkProcess(["find", "\(Repository.path)/Sources/Clients/\(target)", "-name", "*.swift"])
            for file in files.split(separator: "\n") {
                let text = String(decoding: Fixtures.bytes(at: String(file)) ?? [], as: UTF8.self)
                for line in text.split(separator: "\n") {
                    let line = line.drop { $0 == " " }
                    guard line.hasPrefix("public "), let start = line.firstRange(of: "func "), line.contains(" -> ") else {
                        continue
                    }
                    let signature = line[start.lowerBound...].prefix { $0 != "{" }
                    found.insert("\(target): \(String(signature).split(separator: " ").joined(separator: " "))")
                }
            }
        }
        return found
    }

    @Test func `is in the list`() async throws { #expect(try await Self.found() == Self.calls) }

    @Test func `fails after the license was removed`() async throws {
        let note = try await LicensedNote(try await PlayerWorld())
        let keys = LicenseKeys(note.engine)
        let stream = try await note.stream(keys)
        #expect(try await stream.read(0..<16).count == 16)
        try await note.engine.removeLicense(note.license)
        for source in [keys as any ContentKeySource, keys.newUse(), LicenseKeys(note.engine)] {
            switch await source.key(.content(LicensedNote.content)) {
            case .refused, .unknown: break
            case .granted, .pending: Issue.record("a key without a license")
            }
        }
        try await Task.sleep(for: .seconds(2))
        await #expect(throws: MediaError.self) { try await stream.read(16..<32) }
        await #expect(throws: MediaError.self) { try await stream.read(upTo: 16) }
    }

    @Test func `gives no rights without a license`() async throws {
        let world = try await PlayerWorld()
        let engine = try await world.player()
        // an address of a service that is not there
        let address = try MS3URL("https://127.0.0.1:9/hms/ms3/rights/?b=AAAA#https%3A%2F%2Fmedia.example%2Ffilm.mpd")
        switch await PlayerRights(engine).redeem(address, client: HTTPMediaClient()) {
        case .refused, .unavailable: break
        case .granted: Issue.record("rights without a license")
        }
    }
}
