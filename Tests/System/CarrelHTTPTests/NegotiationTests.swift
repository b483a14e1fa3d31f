// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelTesting
import Testing

struct `Negotiation` {
    @Test(
        arguments: [
            (nil, false), ("", false), ("gzip", true), ("GZIP", true), ("deflate, gzip;q=1.0, *;q=0.5", true),
            ("gzip;q=0", false),
            ("*", true), ("*;q=0", false), ("identity", false), ("gzip;q=0.5, identity;q=0.9", false), ("gzip;q=0.000", false),
            ("br", false), ("gzip;q=0.001", true), ("gzip;q=2", false), ("gzip;q=0.1234", false), ("gzip;q=", false),
            ("br, *;q=0.1", true),
        ] as [(String?, Bool)]
    )
    func `tells whether gzip is welcome`(field: String?, takes: Bool) {
        #expect(QualityList.takesGzip(field) == takes)
    }

    @Test(
        arguments: [
            (nil, "application/json"), ("*/*", "application/json"), ("text/html", "text/html"),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
            ("text/*;q=0.3, application/json;q=0.2", "text/html"),
            ("application/json;q=0, */*", "text/html"), ("image/png", nil),
            ("text/html;level=1, application/json;q=0.9", "text/html"),
        ] as [(String?, String?)]
    )
    func `picks the media type the client likes best`(field: String?, type: String?) {
        #expect(QualityList.best(of: ["application/json", "text/html"], for: field) == type)
    }
}

struct `Cookies` {
    @Test func `are read from every field`() {
        var request = HTTPRequest(.get, "/")
        request.headers.append("Cookie", "a=1; b=\"two\"; empty=; a=3;c")
        request.headers.append("cookie", "d = x=y ")
        #expect(request.cookies("a") == ["1", "3"])
        #expect(request.cookie("b") == "two" && request.cookie("empty") == "" && request.cookie("c") == nil)
        #expect(request.cookie("d") == "x=y" && request.cookie("A") == nil)
    }

    @Test func `are written with their limits`() {
        let cookie = SetCookie("session", "abc", path: "/v1", maxAge: 60, isSecure: true, sameSite: .strict)
        #expect(cookie.description == "session=abc; Path=/v1; Max-Age=60; Secure; HttpOnly; SameSite=Strict")
    }

    @Test(.withoutBacktrace, arguments: ["a;b", "a b", "a\r\nb", "a\"b", "é"])
    func `cannot carry another field`(value: String) async {
        await #expect(processExitsWith: .failure) { [value] in _ = SetCookie("a", value, isSecure: false) }
    }
}

struct `Entity tags` {
    @Test(arguments: ["\"a\"", "W/\"a\"", "\"\"", "\"a,b\""])
    func `are read as written`(text: String) throws {
        #expect(try #require(EntityTag(parsing: text)).description == text)
    }

    @Test(arguments: ["", "a", "\"", "w/\"a\"", "W/a", "\"a\"b", "\"a b\"", "\"a\"\""])
    func `of another shape are refused`(text: String) {
        #expect(EntityTag(parsing: text) == nil)
    }

    // RFC 9110 §8.8.3.2, the table of comparisons.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true),
    ])
    func `compare as the specification says`(a: String, b: String, strongly: Bool, weakly: Bool) throws {
        let tag = try #require(EntityTag(parsing: a))
        #expect(EntityTagList(parsing: b).matchesStrongly(tag) == strongly)
        #expect(EntityTagList(parsing: "\"x,y\", " + b).matchesWeakly(tag) == weakly)
    }
}
