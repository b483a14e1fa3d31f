// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights
import CarrelTesting
import CarrelTokens
import Testing

struct `An action token` {
    private static let configuration =
        #"<ConfigurationInfo broadbandServiceId="urn:s" configVersion="1"><ResourceLocation>https://b.test/c"#
        + "</ResourceLocation></ConfigurationInfo>"
    private static let operation =
        "<LicenseAcquisition><Type>personality</Type><BusinessToken>AQID</BusinessToken></LicenseAcquisition>"

    private static func document(_ content: String = configuration + operation, before: String = "") -> [UInt8] {
        Array("\(before)<ActionToken xmlns=\"\(ActionToken.namespace)\">\(content)</ActionToken>".utf8)
    }

    @Test(arguments: [
        ("license", ActionToken.Operation.licenseAcquisition), ("registration-guess", .registration),
    ])
    func `of the fixtures is read, and written so that it is read again`(name: String, operation: ActionToken.Operation) throws {
        let bytes = try Fixtures.bytes("drm/marlin/bb-action-token-\(name).xml")
        let token = try ActionToken(parsing: bytes.rawSpan)
        #expect(token.operation == operation && token.configuration.serviceID == "urn:example:bb:service:1")
        #expect(
            token.configuration.version == 1 && token.configuration.location == "https://bb.example.test/hms/bb/configuration"
        )
        #expect(token.businessToken.count > 100)
        let written = token.write()
        #expect(try ActionToken(parsing: written.rawSpan) == token)
        // the same lines, but for the declaration
        let lines = TokenSamples.text(written).split(separator: "\n").dropFirst()
        #expect(lines.elementsEqual(TokenSamples.text(bytes).split(separator: "\n").dropFirst().map { $0.drop { $0 == " " } }))
    }

    @Test(arguments: ActionToken.Operation.allCases)
    func `carries a sealed token of its kind`(operation: ActionToken.Operation) throws {
        let sealed = try SealedToken.seal(TokenSamples.least(operation.kind), under: TokenSamples.key)
        let configuration = try ActionToken.Configuration(
            serviceID: "urn:a&b\"<",
            version: 7,
            location: "http://127.0.0.1:80/?a&b"
        )
        let token = try ActionToken(operation, configuration: configuration, businessToken: sealed.bytes)
        let written = token.write()
        let read = try ActionToken(parsing: written.rawSpan)
        #expect(read == token && ActionToken.Operation(operation.kind) == operation)
        #expect(throws: Never.self) {
            try SealedToken(bytes: read.businessToken).open(as: operation.kind, keys: TokenSamples.keys, at: TokenSamples.now)
        }
        #expect(!String(reflecting: token).contains(sealed.text))
    }

    @Test func `of a stream does not exist`() {
        #expect(ActionToken.Operation(.ms3) == nil)
    }

    @Test(arguments: [
        "", configuration, operation, operation + configuration, configuration + operation + operation,
        configuration + "text" + operation,
        configuration + operation.replacing("LicenseAcquisition", with: "Other"),
        configuration + operation.replacing("<Type>", with: "<Type a=\"1\">"),
        configuration + operation.replacing("personality", with: "user"),
        configuration + operation.replacing("AQID", with: ""), configuration + operation.replacing("AQID", with: "AQI"),
        configuration + operation.replacing("AQID", with: " AQID"), configuration + operation.replacing("AQID", with: "AR=="),
        configuration + operation.replacing("AQID", with: "AQ-_"), configuration + operation.replacing("AQID", with: "AQ<b/>ID"),
        configuration + operation.replacing("AQID", with: "&unknown;"),
        configuration + operation.replacing("<LicenseAcquisition>", with: "<LicenseAcquisition xmlns=\"urn:other\">"),
        configuration + operation.replacing("<LicenseAcquisition>", with: "<LicenseAcquisition a=\"1\">"),
        configuration.replacing("https:", with: "http:") + operation,
        configuration.replacing("https:", with: "file:") + operation,
        configuration.replacing("\"1\"", with: "\"01\"") + operation,
        configuration.replacing("\"1\"", with: "\"-1\"") + operation,
        configuration.replacing("\"1\"", with: "\"99999999999999999999\"") + operation,
        configuration.replacing("\"urn:s\"", with: "\"\"") + operation,
        configuration.replacing(" configVersion=\"1\"", with: "") + operation,
        configuration.replacing("\"1\"", with: "\"1\" more=\"1\"") + operation,
    ])
    func `with other content is refused`(content: String) {
        let bytes = Self.document(content)
        #expect(throws: RightsError(.malformed)) { try ActionToken(parsing: bytes.rawSpan) }
    }

    @Test func `with a DOCTYPE, entities or too much is refused`() throws {
        let good = Self.document()
        #expect(throws: Never.self) { try ActionToken(parsing: good.rawSpan) }
        let bomb = #"<!DOCTYPE ActionToken [<!ENTITY a "AQID"><!ENTITY b "&a;&a;&a;&a;">]>"#
        let documents = [
            Self.document(before: "<!DOCTYPE ActionToken>"), Self.document(before: #"<!DOCTYPE a SYSTEM "file:///etc/passwd">"#),
            Self.document(Self.configuration + Self.operation.replacing("AQID", with: "&b;"), before: bomb),
            Self.document(Self.configuration + Self.operation.replacing("AQID", with: String(repeating: "AAAA", count: 8000))),
            Self.document(String(repeating: "<a>", count: 50) + String(repeating: "</a>", count: 50)), Array(good.dropLast()),
            good + good, [],
            Array(TokenSamples.text(good).replacing("urn:marlin", with: "urn:other").utf8),
        ]
        for bytes in documents {
            #expect(throws: RightsError(.malformed)) { try ActionToken(parsing: bytes.rawSpan) }
        }
    }

    @Test func `may declare other name spaces and have comments`() throws {
        let text = TokenSamples.text(Self.document()).replacing("<ActionToken ", with: "<ActionToken xmlns:xsi=\"urn:x\" ")
        let bytes = Array(text.replacing("<Type>", with: "<!-- a --><Type>").utf8)
        #expect(try ActionToken(parsing: bytes.rawSpan).businessToken == [1, 2, 3])
    }

    @Test func `has a token of 1 byte to 8 KiB`() throws {
        let configuration = try ActionToken.Configuration(serviceID: "urn:s", version: 1, location: "https://a.test")
        for count in [0, 8193] {
            #expect(throws: RightsError(.malformed)) {
                try ActionToken(.registration, configuration: configuration, businessToken: [UInt8](repeating: 0, count: count))
            }
        }
        let longest = try ActionToken(
            .registration,
            configuration: configuration,
            businessToken: [UInt8](repeating: 0, count: 8192)
        ).write()
        #expect(throws: Never.self) { try ActionToken(parsing: longest.rawSpan) }
    }
}

struct `The configuration of a broadband service` {
    private static func configuration(registration: String = "https://a.test/registration") throws -> BroadbandConfiguration {
        try BroadbandConfiguration(
            serviceID: "urn:s",
            version: 3,
            personalization: "https://a.test/v1/personalize",
            registration: registration,
            licenseAcquisition: "https://a.test/v1/license?a&b",
            deregistration: "http://localhost:8080/deregistration"
        )
    }

    @Test func `is written and read`() throws {
        let configuration = try Self.configuration()
        let bytes = configuration.write()
        #expect(try BroadbandConfiguration(parsing: bytes.rawSpan) == configuration)
        #expect(throws: RightsError(.malformed)) { try ActionToken(parsing: bytes.rawSpan) }
    }

    @Test func `leads to services reached by TLS, or to this machine`() {
        for url in ["http://a.test/", "http://127.0.0.1.test/", "ftp://a.test", "/a", "", "https://a.test/\n"] {
            #expect(throws: RightsError(.malformed)) { try Self.configuration(registration: url) }
        }
    }

    @Test(arguments: [
        ("<Registration>", "<Registration a=\"1\">"), ("Personalization", "Other"),
        ("<Registration>", "<Deregistration/><Registration>"),
        ("\"3\"", "\"3\" a=\"1\""), ("\"3\"", "\"0\""), ("urn:carrel", "urn:other"), ("?>", "?><!DOCTYPE a>"),
        ("https://a.test/v1/p", "http://a.test/"),
    ])
    func `with other content is refused`(part: String, other: String) throws {
        let text = try TokenSamples.text(Self.configuration().write())
        let bytes = Array(text.replacing(part, with: other).utf8)
        #expect(bytes != Array(text.utf8))
        #expect(throws: RightsError(.malformed)) { try BroadbandConfiguration(parsing: bytes.rawSpan) }
    }
}
