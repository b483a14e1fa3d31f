// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelRights
import CarrelTokens
import Testing

struct `A compound URL` {
    private static let location = "https://rights.example.test:8443/hms/ms3/rights/"

    @Test func `of the fixtures is read and written, or refused with its code`() throws {
        let refusals = [
            "missing content URL": "rights.url.content", "rights location must be TLS": "rights.url.tls",
            "missing business token": "rights.url.token",
        ]
        let cases = try #require(try TokenSamples.fixture("marlin/ms3-compound-urls.json").array)
        #expect(cases.count == 6)
        for sample in cases {
            let text = try #require(sample["compound"]?.string)
            if let why = sample["error"]?.string {
                let code = try #require(refusals[why])
                let error = try #require(throws: RightsError.self) { try CompoundURL(parsing: text) }
                #expect(error.code.identifier == code)
                continue
            }
            let surl = try #require(sample["surl"]?.string)
            let url = try CompoundURL(parsing: text)
            #expect(url.description == text)
            #expect(url.contentURL == sample["curl"]?.string)
            #expect(url.rightsURL == surl.replacing("ms3://", with: "https://"))
            #expect(url.scheme == (surl.hasPrefix("ms3:") ? .ms3 : .https))
            #expect(surl.hasSuffix("?b=" + url.token))
            let location = String(surl.prefix { $0 != "?" }).replacing("ms3://", with: "https://")
            #expect(try CompoundURL(rights: location, token: url.token, contentURL: url.contentURL, scheme: url.scheme) == url)
        }
    }

    @Test(arguments: [
        ("https://a.test/r?b=t#http%3a%2f%2fb.test%2f", "http://b.test/"),
        ("HTTPS://a.test/r?x=1&b=t#http://b.test/a?b=c", "http://b.test/a?b=c"),
        ("ms3://[2001:db8::1]:443/?b=t#HLS%3A%2F%2Fb.test", "HLS://b.test"),
        ("https://a.test?b=t#https://b.test/#part", "https://b.test/#part"),
    ])
    func `in another form is read, and written in one`(text: String, content: String) throws {
        let url = try CompoundURL(parsing: text)
        #expect(url.contentURL == content && url.token == "t")
        #expect(try CompoundURL(parsing: url.description) == url)
    }

    @Test(arguments: [
        ("", ErrorCode<RightsError>.url), ("#", .url), ("https:", .url), ("https://", .url), ("https://?b=t#http://b.test", .url),
        ("https://u@a.test/?b=t#http://b.test", .url), ("https://a.test:0/?b=t#http://b.test", .url),
        ("https://a.test:65536/?b=t#http://b.test", .url), ("https://a.test:/?b=t#http://b.test", .url),
        ("https://a.test:80a/?b=t#http://b.test", .url), ("https://[::1/?b=t#http://b.test", .url),
        ("https://[a]/?b=t#http://b.test", .url),
        ("https://a.test/ ?b=t#http://b.test", .url), ("https://ä.test/?b=t#http://b.test", .url),
        ("https://a.test/?b=t#http://b.test\n", .url),
        ("http://localhost/?b=t#http://b.test", .insecureRights), ("ftp://a.test/?b=t#http://b.test", .insecureRights),
        ("https://a.test/#http://b.test", .missingToken), ("https://a.test/?c=t#http://b.test", .missingToken),
        ("https://a.test/?b=t&b=u#http://b.test", .missingToken), ("https://a.test/?b=%zz#http://b.test", .missingToken),
        ("https://a.test/?b=a%2Fb#http://b.test", .missingToken), ("https://a.test/?b=a+b#http://b.test", .missingToken),
        ("https://a.test/?b=t", .missingContent), ("https://a.test/?b=t#", .missingContent),
        ("https://a.test/?b=t#file:///a", .missingContent),
        ("https://a.test/?b=t#ms3://b.test", .missingContent), ("https://a.test/?b=t#http%3A%2F%2", .missingContent),
        ("https://a.test/?b=t#http%3A%2F%2Fb.test%2F%C3%A9", .missingContent), ("https://a.test/?b=t#b.test", .missingContent),
        ("https://a.test/?b=t#http://b.test/%00", .missingContent),
    ])
    func `with a fault is refused with its code`(text: String, code: ErrorCode<RightsError>) throws {
        let error = try #require(throws: RightsError.self) { try CompoundURL(parsing: text) }
        #expect(error.code == code)
    }

    @Test func `is at most 16 KiB long`() throws {
        let start = "https://a.test/?b=t#http://b.test/"
        let text = start + String(repeating: "a", count: 8000)
        #expect(throws: Never.self) { try CompoundURL(parsing: text) }
        #expect(throws: RightsError(.url)) { try CompoundURL(parsing: start + String(repeating: "a", count: 16_384)) }
        #expect(throws: RightsError(.missingToken)) {
            try CompoundURL(rights: Self.location, token: String(repeating: "a", count: 8193), contentURL: "http://b.test")
        }
        #expect(throws: RightsError(.url)) {
            let content = "http://b.test/" + String(repeating: "?", count: 8000)
            return try CompoundURL(rights: Self.location, token: "t", contentURL: content)
        }
    }

    @Test func `is written of a TLS location without a query`() throws {
        #expect(try CompoundURL.rightsURL(Self.location, token: "a-_.~") == Self.location + "?b=a-_.~")
        #expect(try CompoundURL.rightsURL(Self.location, token: "t", scheme: .ms3).hasPrefix("ms3://rights.example.test:8443/"))
        #expect(throws: RightsError(.url)) { try CompoundURL.rightsURL(Self.location + "?a", token: "t") }
        #expect(throws: RightsError(.url)) { try CompoundURL.rightsURL(Self.location + "#a", token: "t") }
        #expect(throws: RightsError(.insecureRights)) { try CompoundURL.rightsURL("http://a.test/", token: "t") }
        #expect(throws: RightsError(.missingToken)) { try CompoundURL.rightsURL(Self.location, token: "") }
        #expect(throws: RightsError(.missingToken)) { try CompoundURL.rightsURL(Self.location, token: "a&b=c") }
        #expect(throws: RightsError(.missingContent)) { try CompoundURL(rights: Self.location, token: "t", contentURL: "a") }
    }
}
