// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import Glibc
import Testing

struct `A representation` {
    static let changed = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }

    static func get(_ method: HTTPMethod = .get, _ headers: HTTPFields = [:]) -> HTTPResponse {
        let changed = Instant.parse(httpDate: changed).map { $0.advanced(byMilliseconds: 250) }
        return .serving(
            Representation(bytes, contentType: "audio/mpeg", etag: "\"v1\"", lastModified: changed),
            for: HTTPRequest(method, "/", headers: headers),
            headers: ["Cache-Control": "private"]
        )
    }

    @Test func `is sent whole with its validators`() async throws {
        let response = Self.get()
        #expect(response.status == .ok)
        #expect(response.headers["etag"] == "\"v1\"" && response.headers["last-modified"] == Self.changed)
        #expect(response.headers["accept-ranges"] == "bytes" && response.headers["cache-control"] == "private")
        #expect(response.headers["content-type"] == "audio/mpeg")
        #expect(try await response.body.collect(upTo: 1000) == Self.bytes)
    }

    // RFC 9110 §13.2.2, row by row.
    @Test(
        arguments: [
            (["If-Match": "\"v1\""], 200), (["If-Match": "*"], 200), (["If-Match": "\"v0\", \"v1\""], 200),
            (["If-Match": "\"v0\""], 412),
            (["If-Match": "W/\"v1\""], 412), (["If-Match": "v1"], 412),
            (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], 200),
            (["If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], 412),
            (["If-Unmodified-Since": "yesterday"], 200),
            (["If-Match": "\"v1\"", "If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"], 200),
            (["If-None-Match": "\"v1\""], 304), (["If-None-Match": "W/\"v1\""], 304), (["If-None-Match": "*"], 304),
            (["If-None-Match": "\"v0\""], 200), (["If-None-Match": "\"v0\"", "if-none-match": "\"v1\""], 304),
            (["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], 304),
            (["If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"], 304),
            (["If-Modified-Since": "Sun Nov  6 08:49:36 1994"], 200),
            (["If-None-Match": "\"v0\"", "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"], 200),
            (["Range": "bytes=0-9", "If-Range": "\"v1\""], 206), (["Range": "bytes=0-9", "If-Range": "W/\"v1\""], 200),
            (["Range": "bytes=0-9", "If-Range": "\"v0\""], 200),
            (["Range": "bytes=0-9", "If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"], 206),
            (["Range": "bytes=0-9", "If-Range": "Sun, 06 Nov 1994 08:49:38 GMT"], 200),
            (["Range": "bytes=0-9", "If-None-Match": "\"v1\""], 304),
            (["Range": "bytes=0-9", "If-Range": "nonsense"], 200), (["Range": "lines=0-9"], 200), (["Range": "bytes=x"], 200),
            (["Range": "bytes=1000-"], 416),
            (["Range": "bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30,32-32"], 416),
        ] as [(HTTPFields, Int)],
        [HTTPMethod.get, .head]
    )
    func `keeps the order of preconditions`(headers: (HTTPFields, Int), method: HTTPMethod) {
        let response = Self.get(method, headers.0)
        #expect(response.status.rawValue == headers.1)
        if headers.1 == 304 { #expect(response.headers["etag"] == "\"v1\"" && response.headers["cache-control"] == "private") }
        if headers.1 == 416 { #expect(response.headers["content-range"] == "bytes */1000") }
    }

    @Test(arguments: [HTTPMethod.get, .head])
    func `gives one range, to HEAD with the same fields`(method: HTTPMethod) async throws {
        let response = Self.get(method, ["Range": "bytes=-10"])
        #expect(response.status == .partialContent && response.body.length == 10)
        #expect(response.headers["content-range"] == "bytes 990-999/1000" && response.headers["content-type"] == "audio/mpeg")
        #expect(try await response.body.collect(upTo: 10) == Self.bytes.suffix(10))
    }

    @Test func `gives many ranges as parts`() async throws {
        let response = Self.get(.get, ["Range": "bytes=5-6,0-1"])
        let type = try #require(response.headers["content-type"])
        let boundary = try #require(type.split(separator: "=").last)
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        func part(_ range: String, _ bytes: [UInt8]) -> [UInt8] {
            Array("--\(boundary)\r\nContent-Type: audio/mpeg\r\nContent-Range: bytes \(range)/1000\r\n\r\n".utf8) + bytes
                + Array("\r\n".utf8)
        }
        let body = try await response.body.collect(upTo: 1000)
        #expect(body == part("5-6", [5, 6]) + part("0-1", [0, 1]) + Array("--\(boundary)--\r\n".utf8))
        #expect(response.body.length == body.count)
    }

    @Test func `of other methods fails a precondition instead of saying that nothing changed`() {
        #expect(Self.get(.put, ["If-None-Match": "*"]).status == .preconditionFailed)
    }

    @Test func `of nothing has no range`() {
        let response = HTTPResponse.serving(
            Representation([], contentType: "a/b"),
            for: HTTPRequest(.get, "/", headers: ["Range": "bytes=0-"])
        )
        #expect(response.status == .rangeNotSatisfiable && response.headers["content-range"] == "bytes */0")
    }

    @Test func `joins parts of every kind`() async throws {
        let path = "/tmp/carrel-representation-\(getpid())"
        defer { unsafe unlink(path) }
        try Self.write(Self.bytes, to: path)
        let file = try OpenFile(path: path)
        for kind in ["file", "stream", "pull"] {
            let representation = Representation(length: 1000, contentType: "a/b") { range in
                let bytes = Array(Self.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
                return switch kind {
                case "file": .file(file, range)
                case "pull": .pull(length: bytes.count, Bytes(bytes))
                default: .stream(length: bytes.count) { try await $0.write(bytes) }
                }
            }
            let request = HTTPRequest(.get, "/", headers: ["Range": "bytes=0-99,200-299,900-"])
            let response = HTTPResponse.serving(representation, for: request)
            let body = try await response.body.collect(upTo: 10000)
            #expect(body.count == response.body.length, "\(kind)")
            let found = [0..<100, 200..<300, 900..<1000].allSatisfy { range in
                (0...body.count - range.count).contains { body[$0..<$0 + range.count] == Self.bytes[range] }
            }
            #expect(found, "\(kind)")
        }
        #expect(Representation(file, contentType: "a/b").etag?.hasPrefix("\"3e8-") == true)
    }

    @Test func `of a file that is gone is not found`() {
        #expect(throws: HTTPError.self) { try OpenFile(path: "/tmp/carrel-no-such-file") }
        #expect(throws: HTTPError.self) { try OpenFile(path: "/tmp") }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let fd = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(fd) }
        try #require(unsafe bytes.withUnsafeBytes { unsafe Glibc.write(fd, $0.baseAddress, $0.count) } == bytes.count)
    }
}

/// A source that gives a few bytes at a time.
final class Bytes: BodySource, @unchecked Sendable {  // read by one thread
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    func read(into out: inout OutputRawSpan) throws {
        for byte in rest.prefix(min(7, out.freeCapacity)) { out.append(byte) }
        rest = rest.dropFirst(7)
    }
}
