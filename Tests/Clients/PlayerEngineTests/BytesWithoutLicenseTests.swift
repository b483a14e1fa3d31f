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
        "CarrelLicenseKeys: init(_ client: HTTPClient = HTTPClient())",
        "CarrelLicenseKeys: init(_ engine: PlayerEngine, action: LicenseAction = .play, content: String? = nil)",
        "CarrelLicenseKeys: func key(_ name: ContentKeyName) async -> ContentKeyAnswer",
        "CarrelLicenseKeys: func key(anyOf names: [ContentKeyName]) async -> (answer: ContentKeyAnswer, name: ContentKeyName?)",
        "CarrelLicenseKeys: func newUse() -> any CountedKeySource",
        // bytes as the server sent them, which no license protects
        "CarrelLicenseKeys: func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse",
        "CarrelLicenseKeys: func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse",
        "CarrelPlayerRights: init(_ engine: PlayerEngine)",
        "CarrelPlayerRights: func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer",
    ]

    /// The public functions of the targets that return something, their initializers and their subscripts.
    private static func found() async throws -> Set<String> {
        var found: Set<String> = []
        for target in ["CarrelLicenseKeys", "CarrelPlayerRights"] {
            let files = try await checkProcess(["find", "\(Repository.path)/Sources/Clients/\(target)", "-name", "*.swift"])
            for file in files.split(separator: "\n") {
                let text = String(decoding: Fixtures.bytes(at: String(file)) ?? [], as: UTF8.self)
                for signature in signatures(in: text) { found.insert("\(target): \(signature)") }
            }
        }
        return found
    }

    /// The public signatures in a source file, each on one line, from its keyword to its body.
    private static func signatures(in text: String) -> [String] {
        var signatures: [String] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "public ") {
            rest = rest[start.upperBound...]
            // up to the body, or to the end of the line outside of all brackets
            var depth = 0
            let declaration = rest.prefix { character in
                if "([".contains(character) { depth += 1 }
                if ")]".contains(character) { depth -= 1 }
                return depth > 0 || character != "{" && character != "\n"
            }
            let words = declaration.split { $0 == " " || $0 == "\n" }
            guard let keyword = words.firstIndex(where: { $0 == "func" || $0.hasPrefix("init") || $0.hasPrefix("subscript") }),
                !words[..<keyword].contains(where: { ["var", "let", "struct", "actor", "import"].contains($0) })
            else { continue }
            let line = words[keyword...].joined(separator: " ").replacing("( ", with: "(").replacing(" )", with: ")")
            if !line.hasPrefix("func ") || line.contains(" -> ") { signatures.append(line) }
        }
        return signatures
    }

    @Test func `reads signatures on several lines`() {
        let text = """
            public struct Keys {
                public init?(
                    _ name: String,
                    count: Int
                ) throws {
                public subscript(index: Int) -> [UInt8] { [] }
                public static func bytes(
                    of name: String
                ) async -> [UInt8] {
                public func end() async {
            """
        #expect(
            Self.signatures(in: text) == [
                "init?(_ name: String, count: Int) throws", "subscript(index: Int) -> [UInt8]",
                "func bytes(of name: String) async -> [UInt8]",
            ]
        )
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
