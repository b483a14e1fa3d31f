// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelRights
import CarrelTokens
import Testing

/// 20,000 altered copies of a good input for each reader, the same ones in every run.
struct `An altered input` {
    private static let now = TokenSamples.now

    @Test func `of a sealed token is not opened`() throws {
        let token = try SealedToken.seal(TokenSamples.full, under: TokenSamples.key)
        var opened = 0
        for kind in [BusinessRules.Kind.license, .ms3] {
            try TokenSamples.mutate(Array(token.text.utf8), 10_000) { bytes in
                guard let rules = try? SealedToken.open(TokenSamples.text(bytes), as: kind, keys: TokenSamples.keys, at: Self.now)
                else { return }
                opened += 1
                try #require(TokenSamples.text(bytes) == token.text && rules == TokenSamples.full)
            }
        }
        // an alteration that another one undoes
        #expect(opened < 20)
        try TokenSamples.mutate(token.bytes) { bytes in
            guard bytes != token.bytes, let token = try? SealedToken(bytes: bytes) else { return }
            for kind in BusinessRules.Kind.allCases {
                try #require(throws: RightsError(.token)) { try token.open(as: kind, keys: TokenSamples.keys, at: Self.now) }
            }
        }
    }

    @Test func `of a license message is not taken`() throws {
        let key = `A license message`.key
        let text = try `A license message`.full.write(under: key)
        try TokenSamples.mutate(Array(text.utf8)) { bytes in
            guard let message = try? LicenseMessage.read(TokenSamples.text(bytes), keys: [key], at: Self.now) else { return }
            try #require(TokenSamples.text(bytes) == text && message == `A license message`.full)
        }
    }

    @Test func `of a license message's payload, rightly signed, is refused or read in full`() throws {
        let key = `A license message`.key
        let text = try `A license message`.full.write(under: key)
        let payload = try #require(Base64URL.decode(text.split(separator: ".")[1]))
        let mac = HMACSHA256(key: key.secret)
        let header = String(text.prefix { $0 != "." })
        var read = 0
        try TokenSamples.mutate(payload, 5000) { bytes in
            let input = Array((header + "." + Base64URL.encode(bytes)).utf8)
            let altered = TokenSamples.text(input) + "." + Base64URL.encode(mac.authenticate(input.rawSpan))
            guard let message = try? LicenseMessage.read(altered, keys: [key], at: Self.now) else { return }
            read += 1
            // what names a rule that is not known is not written
            guard let again = try? message.write(under: key) else { return }
            try #require(try LicenseMessage.read(again, keys: [key], at: Self.now) == message)
        }
        #expect(read > 100)
    }

    @Test func `of a compound URL is refused, or read to a URL that is read again`() throws {
        let url = try CompoundURL(
            rights: "https://rights.example.test:8443/hms/ms3/rights/",
            token: "AQIDBA-_",
            contentURL: "http://cdn.example.test/a/book.dcf?x=1&y=2"
        )
        var read = 0
        try TokenSamples.mutate(Array(url.description.utf8)) { bytes in
            guard let altered = try? CompoundURL(parsing: TokenSamples.text(bytes)) else { return }
            read += 1
            try #require(altered.rightsURL.hasPrefix("https://") && !altered.token.isEmpty && altered.contentURL.contains("://"))
            try #require(try CompoundURL(parsing: altered.description) == altered)
        }
        #expect(read > 1000)
    }

    @Test func `of an action token is refused, or read to one that is read again`() throws {
        let configuration = try ActionToken.Configuration(serviceID: "urn:s", version: 1, location: "https://a.test/c")
        let token = try ActionToken(.licenseAcquisition, configuration: configuration, businessToken: (0..<60).map { UInt8($0) })
        var read = 0
        try TokenSamples.mutate(token.write()) { bytes in
            guard let altered = try? ActionToken(parsing: bytes.rawSpan) else { return }
            read += 1
            let written = altered.write()
            try #require(try ActionToken(parsing: written.rawSpan) == altered)
        }
        #expect(read > 100)
        let document = try BroadbandConfiguration(
            serviceID: "urn:s",
            version: 1,
            personalization: "https://a.test/1",
            registration: "https://a.test/2",
            licenseAcquisition: "https://a.test/3",
            deregistration: "https://a.test/4"
        )
        try TokenSamples.mutate(document.write()) { bytes in
            guard let altered = try? BroadbandConfiguration(parsing: bytes.rawSpan) else { return }
            let written = altered.write()
            try #require(try BroadbandConfiguration(parsing: written.rawSpan) == altered)
        }
    }

    @Test func `of a request for a token is refused with a number, or gives rules that can be sealed`() throws {
        let query =
            "customerAuthenticator=1000,\(TokenDesk.keyText)&actionTokenType=1&contentId.0=cid:x&contentKey.0=166634c675823c235a4a9446fad52e4d"
            + "&kid.1=^label&ek.2=d65a2e6df54ac01639a7a9f42e10c5b4825548441f2110f8&kek=000102030405060708090a0b0c0d0e0f&contentId.2=cid:y"
            + "&rightsType=Rental&rental.periodEndTime=%2B2592000&rental.playDuration=172800&expirationTime=2027-02-01T00:00:00Z&cookie=a"
            + "&generalFlags=00000001&outputControlFlags=0000000f&unknownOutputBehavior=SDOnly&ms3Extension=wudo,false,AAAAAA%3D%3D"
            + "&userId=reader-7&userKey=000102030405060708090a0b0c0d0e0f"
        let desk = TokenDesk(isKnown: { _ in true })
        var granted = 0
        try TokenSamples.mutate(Array(query.utf8)) { bytes in
            guard let pairs = try? Query(parsing: TokenSamples.text(bytes)).pairs.map({ (name: $0.name, value: $0.value) }) else {
                return
            }
            for service in TokenRequest.Service.allCases {
                guard let rules = try? desk.request(pairs, service).rules else { continue }
                granted += 1
                let token = try SealedToken.seal(rules, under: TokenSamples.key)
                try #require(try SealedToken.open(token.text, as: rules.kind, keys: TokenSamples.keys, at: Self.now) == rules)
            }
        }
        #expect(granted > 1000)
    }
}
