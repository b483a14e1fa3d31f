// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import Testing

struct `Header fields` {
    @Test func `are found whatever the case and kept in order`() {
        var fields: HTTPFields = ["Host": "a", "X-One": "1", "x-one": "2"]
        #expect(fields["HOST"] == "a")
        #expect(fields.values("X-ONE") == ["1", "2"])
        #expect(fields.list("x-one") == "1, 2")
        fields["X-one"] = "3"
        #expect(fields.map(\.value) == ["a", "3"])
        fields["x-ONE"] = nil
        fields.append("B", "c")
        #expect(fields.map(\.name) == ["Host", "B"])
        #expect(fields.count("b") == 1 && fields["x-one"] == nil)
    }
}

struct `A request path` {
    @Test(arguments: [
        ("/", [""]), ("/a/b", ["a", "b"]), ("/a/", ["a", ""]), ("//", ["", ""]), ("/a%20b/%C3%A6", ["a b", "æ"]),
        ("/%252e%252e", ["%2e%2e"]), ("/a;b=c,d:@!$&'()*+", ["a;b=c,d:@!$&'()*+"]), ("/...", ["..."]), ("/.a", [".a"]),
    ])
    func `splits first and decodes once`(raw: String, segments: [String]) throws {
        #expect(try RequestPath(parsing: raw).segments == segments)
    }

    @Test(arguments: [
        "", "a", "*", "http://a/b", "/..", "/a/../b", "/.", "/a/./b", "/%2e", "/%2E%2e/x", "/.%2e", "/a%2fb", "/a%2Fb", "/a%5cb",
        "/a\\b", "/%00", "/a%00.mp3", "/a%0d%0ab", "/%7f", "/%", "/%4", "/%zz", "/%+1", "/%ff", "/%c0%ae%c0%ae/", "/æ", "/a b",
        "/a#b",
        "/a?b", "/a\u{7f}", "/\u{0}",
    ])
    func `refuses what could mean two things`(raw: String) {
        #expect(throws: HTTPError.self) { try RequestPath(parsing: raw) }
    }
}

struct `A query` {
    @Test func `keeps pairs in order and decodes them once`() throws {
        let query = try Query(parsing: "a=1&b&a=2+3&c=%2B%3D%26&=x&&d=e=f")
        #expect(query.pairs.map(\.name) == ["a", "b", "a", "c", "", "d"])
        #expect(query["a"] == "1" && query.all("a") == ["1", "2 3"])
        #expect(query["b"] == "" && query["c"] == "+=&" && query["d"] == "e=f" && query["A"] == nil)
    }

    @Test func `reads flags`() throws {
        let query = try Query(parsing: "a&b=true&c=1&d=false&e=TRUE")
        #expect(["a", "b", "c", "d", "e", "f"].map(query.flag) == [true, true, true, false, true, false])
    }

    @Test func `refuses broken escapes and too many fields`() {
        #expect(throws: HTTPError.self) { try Query(parsing: "a=%zz") }
        #expect(throws: HTTPError.self) { try Query(parsing: "a=%ff") }
        #expect(throws: HTTPError.self) { try Query(parsing: "a&b&c", limit: 2) }
    }
}

struct `Request body` {
    @Test func `is collected up to a limit and given once`() async throws {
        let body = RequestBody([1, 2, 3])
        #expect(try await body.collect(upTo: 3) == [1, 2, 3])
        #expect(try await body.collect(upTo: 3) == [])
        await #expect(throws: HTTPError.self) { try await RequestBody([1, 2, 3]).collect(upTo: 2) }
    }

    final class Chunks: RequestBodySource {
        func next() async throws(HTTPError) -> [UInt8]? { [0, 0] }
    }

    @Test func `without an announced length is limited too`() async throws {
        let error = await #expect(throws: HTTPError.self) {
            try await RequestBody(length: nil, source: Chunks()).collect(upTo: 99)
        }
        #expect(error?.status == .contentTooLarge)
    }
}

struct `Percent-encoding` {
    @Test(arguments: ["", "abc-._~", "a b/c?d=e&f+%", "æøå", "\u{0}\u{7f}"])
    func `reads what it writes`(text: String) {
        #expect(PercentEncoding.decode(PercentEncoding.encode(text)) == text)
        #expect(PercentEncoding.decode(PercentEncoding.encode(text), plusIsSpace: true) == text)
    }
}
