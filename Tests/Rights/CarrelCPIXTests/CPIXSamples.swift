// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelRights
import CarrelTesting
import Testing

/// Documents and keys that tests share.
enum CPIXSamples {
    static let ids = (1...3).map { KeyID(label: "key \($0)") }
    static let secrets = (1...3).map { number in Secret([UInt8](repeating: UInt8(number), count: 16)) }

    /// A document with everything that the format has.
    static let full: CPIXDocument = {
        var document = CPIXDocument(contentID: "book & film <1>")
        document.keys = [
            CPIXKey(ids[0], .clear(secrets[0]), scheme: "cbcs", explicitIV: Array(0..<16)),
            CPIXKey(ids[1], .clear(secrets[1]), scheme: "cbcs"), CPIXKey(ids[2], .clear(secrets[2]), scheme: "cbcs"),
        ]
        document.keys[2].dependsOn = ids[1]
        var system = CPIXSystem(KeyID(label: "system"), ids[0])
        system.name = "System"
        system.protectionBox = [1, 2, 3]
        system.contentProtection = Array("<a/>".utf8)
        system.keyURI = Array("skd://1".utf8)
        system.hlsSignaling = [.media: Array("#EXT-X-KEY".utf8), .multivariant: Array("#EXT-X-SESSION-KEY".utf8)]
        system.smoothStreaming = "AQID"
        document.systems = [system]
        var period = CPIXPeriod(id: "p1", index: 1)
        period.start = Instant.parse("2026-01-01T00:00:00Z")
        period.end = Instant.parse("2026-01-01T01:00:00Z")
        document.periods = [period]
        var video = CPIXRule(ids[0], trackType: "HD")
        video.periods = ["p1"]
        video.labels = ["main"]
        video.video = [.init(pixels: .init(1, 2_000_000))]
        video.video[0].framesPerSecond = .init(nil, 60)
        video.video[0].isHDR = false
        video.video[0].hasWideGamut = false
        video.bitrates = [.init(1, nil)]
        var audio = CPIXRule(ids[1], trackType: "AUDIO")
        audio.audio = [.init(1, 2), .init(6, nil)]
        document.rules = [video, audio]
        return document
    }()

    /// A document of a text, with the namespaces declared.
    static func document(_ content: String, attributes: String = "contentId=\"c\" version=\"2.3\"") -> [UInt8] {
        Array(
            """
            <CPIX xmlns="urn:dashif:org:cpix" xmlns:pskc="urn:ietf:params:xml:ns:keyprov:pskc" \
            xmlns:ds="http://www.w3.org/2000/09/xmldsig#" xmlns:enc="http://www.w3.org/2001/04/xmlenc#" \(attributes)>\(content)</CPIX>
            """.utf8
        )
    }

    /// A `ContentKey` in the clear.
    static func key(_ number: Int) -> String {
        """
        <ContentKey kid="\(KeyID(label: "key \(number)").uuid)"><Data><pskc:Secret><pskc:PlainValue>AAAAAAAAAAAAAAAAAAAAAA==\
        </pskc:PlainValue></pskc:Secret></Data></ContentKey>
        """
    }

    static func read(_ bytes: [UInt8], limits: CPIXLimits = CPIXLimits()) throws(CPIXError) -> CPIXDocument {
        try CPIXDocument(reading: bytes.rawSpan, limits: limits)
    }

    /// The private key in a fixture, whose password is its name.
    static func privateKey(_ name: String) throws -> RSAPrivateKey {
        try RSAPrivateKey(file: Secret(Fixtures.bytes("drm/pki/\(name).pfx")), password: Secret(Array(name.utf8)))
    }

    static func certificate(_ name: String) throws -> Certificate {
        try Certificate(der: Fixtures.bytes("drm/pki/\(name).cer"))
    }

    static func hex(_ secret: Secret?) -> String? { secret?.withBytes { Hex.encode([UInt8](copying: $0)) } }
}
