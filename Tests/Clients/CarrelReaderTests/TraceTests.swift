// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTPClient
import CarrelReader
import Testing

struct `A trace` {
    @Test func `is one line with its values`() {
        let trace = Trace(
            Trace.Channel("proxy"),
            Instant(milliseconds: 1_700_000_000_123),
            "segment sent",
            [
                Trace.Field("index", .number(12)), Trace.Field("bytes", .number(UInt64.max)),
                Trace.Field("took", .duration(.milliseconds(1250))),
                Trace.Field("kind", .word("video")), Trace.Field("last", .flag(false)),
                Trace.Field("codec", .name("avc1.64001f")),
                Trace.Field("error", .code(of: HTTPClientError(.address, "secret"))),
                Trace.Field("url", .url("https://cdn.example:8443/a/b.m4s?x=1")),
            ]
        )
        #expect(
            trace.description
                == "2023-11-14T22:13:20.123Z proxy: segment sent index=12 bytes=18446744073709551615 took=1.25s kind=video last=no "
                + "codec=avc1.64001f error=client.address url=https://cdn.example:8443/a/b.m4s"
        )
        #expect(trace.channel == Trace.Channel("proxy") && trace.fields.count == 8 && trace.fields[0].name == "index")
    }

    @Test(arguments: [
        ("https://user:pass@h.example/a", "https://h.example/a"), ("https://us:p@ss@h.example/a", "https://h.example/a"),
        ("HTTP://H.example/a?token=secret#part", "http://H.example/a"), ("http://h/a;sig=abc/b;c", "http://h/a;***/b;***"),
        ("http://127.0.0.1:80/media/0123456789abcdefghijklmnopqrstuvwxyzABCDEFG/v.m3u8", "http://127.0.0.1:80/media/***/v.m3u8"),
        ("https://h/123e4567-e89b-12d3-a456-426614174000/a", "https://h/***/a"),
        ("https://h/00112233445566778899aabbccddeeff.key", "https://h/***.key"),
        ("https://h/eyJhbGciOiJIUzI1NiJ9abc.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlc2lnbmF0dXJl", "https://h/***"),
        ("https://h/0123456789abcdefghijk.9876543210abcdefghijk", "https://h/***.***"),
        ("https://h/%41%42%43%44%45%46%47%48", "https://h/***"), ("https://h/AAAAAAAAAAAAAAAAAAAAAA==/x", "https://h/***/x"),
        ("https://h/segments/video/1080p/00012.m4s", "https://h/segments/video/1080p/00012.m4s"),
        ("https://h/a\nb\u{1b}[31m/c d", "https://h/a_b_[31m/c_d"), ("https://h", "https://h"), ("https://h?x", "https://h"),
        ("../a/b.ts?key=1", "../a/b.ts"), ("/a/b", "/a/b"), ("data:text/plain,secret", "data:***"),
        ("file:///a/user/film.mp4", "file:***"),
        ("skd://secret", "skd:***"), ("ms3://h/rights/?b=token#https", "ms3:***"), ("http:secret", "http:***"), ("", ""),
        ("a:b@c", "a:***"),
        ("https://user:pa\\ss@h/x", "https://h/x"), ("https://h\\@x/y", "https://x/y"), ("https://h\\secret/y", "https://***/y"),
        ("//user:pass@h/x", "//h/x"), ("user:pass@h/x", "user:***"),
    ])
    func `keeps only the public parts of an address`(url: String, shown: String) {
        #expect(Trace.Value.url(url).description == shown)
    }

    @Test(arguments: [
        ("avc1.64001f", "avc1.64001f"), ("application/vnd.apple.mpegurl", "application/vnd.apple.mpegurl"),
        ("application/octet-stream", "application/octet-stream"), ("video_1080p", "video_1080p"),
        ("00112233445566778899aabbccddeeff", "***"), ("key 00112233445566778899AABBCCDDEEFF!", "key_***!"),
        ("q83vEjRWeJASNFZ4kBI0Vg==", "***"), ("a/b+c0d/e+fgh/ijk+lmnop", "***"), ("\u{202e}x\r\nfalse=line", "___x__false=line"),
        (String(repeating: "x.", count: 100), String(repeating: "x.", count: 32)),
    ])
    func `keeps of a name what could be no key`(name: String, shown: String) {
        #expect(Trace.Value.name(name).description == shown)
    }

    @Test func `hides random bits however they are written`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let bits = (0..<Int.random(in: 16...48)).map { _ in UInt8.random(in: 0...255, using: &random) }
            for text in [Hex.encode(bits), Base64.encode(bits), Base64URL.encode(bits)] {
                let escaped = text.utf8.map { "%" + String($0, radix: 16) }.joined()
                for form in [text, escaped] {
                    let plain = form.split(separator: "/").map(String.init)
                    #expect(Trace.Value.name("a \(form) b").description == "a_***_b", "\(form)")
                    // a slash of base 64 makes segments, of which the long ones are hidden
                    let shown = Trace.Value.url("https://h/\(form)/x").description
                    for part in plain where part.utf8.count > 20 { #expect(!shown.contains(part), "\(form)") }
                    #expect(Trace.Value.url("https://h/x?t=\(form)").description == "https://h/x")
                    #expect(Trace.Value.url("https://\(form.replacing("/", with: "_"))@h/x").description == "https://h/x")
                }
            }
        }
    }

    @Test func `goes to a closure of the app's`() {
        let take: @Sendable (Trace) -> Void = { #expect(!$0.description.contains("secret")) }
        take(Trace(Trace.Channel("proxy"), .now(), "redirected", [Trace.Field("to", .url("https://a:secret@h/?secret"))]))
    }
}
