// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `An MS3 address` {
    @Test func `of the fixtures is read, or refused by the part that is wrong`() throws {
        let path = try Fixtures.path("drm/marlin/ms3-compound-urls.json")
        let bytes = try #require(Fixtures.bytes(at: path))
        let cases = try #require(try JSON.parse(bytes.rawSpan).array)
        let words = [
            "missing content URL": "no content location", "rights location must be TLS": "not reached by TLS",
            "missing business token": "no business token",
        ]
        #expect(cases.count == 6)
        for sample in cases {
            let text = try #require(sample["compound"]?.string)
            #expect(MS3URL.seems(text))
            if let why = sample["error"]?.string {
                let error = try #require(throws: ProxyError.self) { try MS3URL(text) }
                #expect(error.message.contains(try #require(words[why])), "\(error)")
                #expect([.usage, .address].contains(error.code) && error.recommendation != "Correct the call.")
                continue
            }
            let url = try MS3URL(text)
            let content = try #require(sample["curl"]?.string)
            #expect(url.isPlaylist == content.hasPrefix("hls:"))
            #expect(url.contentURL == content.replacing("hls://", with: "https://"))
            #expect(url.rightsURL == sample["surl"]?.string?.replacing("ms3://", with: "https://"))
            #expect(url.rightsURL.hasSuffix("?b=\(url.token)") && url.text == text)
        }
    }

    @Test func `to a playlist leads to a server by https, and to this machine by http`() throws {
        for (content, url) in [
            ("hls://cdn.example:444/a.m3u8?x=1", "https://cdn.example:444/a.m3u8?x=1"),
            ("HLS://127.0.0.1:80/a", "http://127.0.0.1:80/a"), ("hls://[::1]/a", "http://[::1]/a"),
            ("hls://localhost.example/a", "https://localhost.example/a"),
        ] {
            let made = try MS3URL(TestRights.url(content))
            #expect(made.contentURL == url && made.isPlaylist)
        }
    }

    @Test func `shows its token in no form of text`() throws {
        for scheme in ["https", "ms3"] {
            let url = try MS3URL(TestRights.url("https://cdn.example/film.mpd?sig=secret", scheme: scheme))
            var dumped = ""
            dump(url, to: &dumped)
            for text in ["\(url)", String(reflecting: url), dumped, "\([url])", "\(Optional(url) as Any)"] {
                #expect(text.contains("rights.example:8443") && text.contains("cdn.example/film.mpd"), "\(text)")
                #expect(!text.contains(TestRights.token) && !text.contains("secret"), "\(text)")
            }
        }
    }

    @Test(arguments: [" ", "\u{feff}", "\t\u{200b}", "x", "./"]) func `hides the token of a URL with a prefix in every error`(
        before: String
    ) throws {
        let proxy = try PlaylistProxy()
        try proxy.start()
        for scheme in ["https", "ms3"] {
            let text = before + TestRights.url("https://cdn.example/film.mpd", scheme: scheme)
            #expect(MS3URL.seems(text) == !"x./".contains(before))
            let error = try #require(throws: ProxyError.self) { try proxy.makeURL(text, .dash, rights: TestRights()) }
            #expect(!"\(error) \(error.message) \(error.recommendation)".contains(TestRights.token), "\(error)")
        }
    }

    @Test func `is taken out of the words of others however its token is written`() throws {
        let written = "%41AwAAwAAAxkAAlRXPGAA%45CBR0l7K"
        let url = try MS3URL("https://rights.example/r/?x=1&b=\(written)#https%3A%2F%2Fcdn.example%2Ffilm.mpd")
        #expect(url.token == "AAwAAwAAAxkAAlRXPGAAECBR0l7K")
        for text in ["no rights for \(written)", "no rights for \(url.token)", "GET \(url.rightsURL) failed\n"] {
            let shown = url.withoutToken(text)
            #expect(!shown.contains("AwAAwAAA") && shown.contains("…") && !shown.contains("\n"), "\(shown)")
        }
        #expect(url.withoutToken(String(repeating: "a", count: 9999)).count == 256)
    }

    @Test(arguments: [
        "https://cdn.example/film.mpd", "https://cdn.example/film.mpd#t=10", "https://cdn.example/film.mpd?b=1#chapter",
        "http://cdn.example/film.mpd?u=https%3A%2F%2Fx", "film#https://x", "/ms3/rights/", "https://cdn.example/#httpx", "",
    ])
    func `is told from another source`(source: String) { #expect(!MS3URL.seems(source)) }

    @Test(arguments: [
        ("ms3://a.example/rights?b=t", "no content location"), ("ms3:", "not a URL"), ("ms3://", "not a URL"),
        ("MS3://a.example/?c=t#https://b.example", "no business token"),
        ("https://a.example/hms/ms3/rights/?b=t", "no content location"),
        ("https://a.example/x#https%3A%2F%2Fb.example", "no business token"),
        ("http://a.example/?b=t#https://b.example", "not reached by TLS"),
        ("https://a.example/?b=t#https%3A%2F%2", "broken escape"), ("https://a.example/?b=t#https%3A%2F%2F", "content location"),
        ("https://a.example/?b=t#HLS://", "content location"), ("ms3://a.example/?b=t#file:///etc/passwd", "content location"),
        ("ms3://a.example/?b=t#/etc/passwd", "content location"),
        ("ms3://a.example/?b=a%2Fb#https://b.example", "no business token"),
        ("ms3://u:p@a.example/?b=t#https://b.example", "not a URL"),
        ("ms3://a.example/?b=t #https://b.example", "must be escaped"),
    ])
    func `with a fault is refused by name before anything is requested`(source: String, words: String) throws {
        let run = try ProxyRun()
        let rights = TestRights()
        let error = try #require(throws: ProxyError.self) { _ = try run.proxy.makeURL(source, .singleFile, rights: rights) }
        #expect([.usage, .address].contains(error.code) && error.message.contains(words), "\(error)")
        #expect(error.recommendation.hasSuffix(".") && !error.message.contains("=t"))
        #expect(rights.asked.isEmpty)
    }

    @Test func `needs a source of rights`() throws {
        let run = try ProxyRun()
        let error = try #require(throws: ProxyError.self) {
            _ = try run.proxy.makeURL(TestRights.url("https://cdn.example/film.mpd"), .dash)
        }
        #expect(error.code == .usage && error.message.contains("source of rights"))
        #expect(error.recommendation.contains("RightsSource") && !"\(error)".contains(TestRights.token))
    }

    @Test func `to a playlist is not taken for DASH, nor one to plain http beyond this machine`() throws {
        let run = try ProxyRun()
        let rights = TestRights()
        #expect(throws: ProxyError(.usage, "")) {
            _ = try run.proxy.makeURL(TestRights.url("hls://cdn.example/film.m3u8"), .dash, rights: rights)
        }
        #expect(throws: ProxyError(.address, "")) {
            _ = try run.proxy.makeURL(TestRights.url("http://cdn.example/film.mpd"), .dash, rights: rights)
        }
    }
}
