// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelWorks
import Testing

@Suite(.onBothDatabases)
struct `Samples by ISBN` {
    /// A minute of the test's title, which has no chapters: its first 2,296 frames.
    private static let sample = SilentMP3.frames(600 * 44_100 / 1152).prefix(frames: 60 * 44_100 / 1152)
    private static let path = "/Sample.ashx?isbn=\(TestService.isbn)"

    @Test func `are whole public MP3 files`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        let answer = try await test.send(.get, Self.path)
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "audio/mpeg")
        #expect(answer.headers["Accept-Ranges"] == "bytes")
        #expect(answer.body == Self.sample)
        let tag = try #require(answer.headers["ETag"])
        #expect(try await test.send(.get, Self.path, headers: ["If-None-Match": tag]).status == 304)
        let hyphens = try await test.send(.get, "/Sample.ashx?isbn=978-0-306-40615-7")
        #expect(hyphens.body == Self.sample)
        let short = try await test.send(.get, "/Sample.ashx?isbn=0306406152")
        #expect(short.body == Self.sample, "the same ISBN in ten digits")
    }

    @Test func `are served in ranges, also to HEAD`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        let size = Self.sample.count
        for (range, bytes) in [("0-99", 0...99), ("1000-", 1000...size - 1), ("-1", size - 1...size - 1)] {
            let headers: HTTPFields = ["Range": "bytes=\(range)"]
            let expected = "bytes \(bytes.lowerBound)-\(bytes.upperBound)/\(size)"
            let answer = try await test.send(.get, Self.path, headers: headers)
            #expect(answer.status == 206)
            #expect(answer.headers["Content-Range"] == expected)
            #expect(answer.body == Array(Self.sample[bytes]))
            let head = try await test.send(.head, Self.path, headers: headers)
            #expect(head.status == 206)
            #expect(head.headers["Content-Range"] == expected)
        }
        let beyond = try await test.send(.get, Self.path, headers: ["Range": "bytes=\(size)-"])
        #expect(beyond.status == 416)
        #expect(beyond.headers["Content-Range"] == "bytes */\(size)")
        let head = try await test.send(.head, Self.path)
        #expect(head.status == 200 && head.headers["Content-Type"] == "audio/mpeg")
    }

    @Test func `are described with how long they play`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        let answer = try await test.call(.get, "/v1/samples/978-0-306-40615-7")
        #expect(answer.status == 200)
        #expect(
            answer.json == [
                "isbn": .string(TestService.isbn), "title": "Silence", "duration": .number(JSONNumber(59.977)),
                "url": .string(Self.path),
            ]
        )
    }

    @Test(arguments: [
        ("", 400), ("?isbn=", 400), ("?isbn=9780306406158", 400), ("?isbn=x", 400), ("?isbn=9783161484100", 404),
    ])
    func `that are not there are not found, and what is no ISBN is said to be none`(query: String, status: Int) async throws {
        let test = try await TestService(.silence, with: .catalog)
        #expect(try await test.call(.get, "/Sample.ashx\(query)").status == status)
        #expect(try await test.call(.head, "/Sample.ashx\(query)").status == status)
        let isbn = query.dropFirst(6)
        if !isbn.isEmpty { #expect(try await test.call(.get, "/v1/samples/\(isbn)").status == status) }
    }

    @Test func `of an ISBN belong to its newest title, if that has one`() async throws {
        let test = try await TestService(.silence, with: .catalog)
        var options = IngestOptions()
        options.overrides.isbn = ISBN(TestService.isbn)
        options.sampleSeconds = 5
        test.clock.advance(by: .seconds(1))
        let newer = test.directory.write("newer.mp3", SilentMP3.frames(700))
        _ = try await test.service.ingesting.ingest(newer, options)
        #expect(try await test.send(.get, Self.path).body == SilentMP3.frames(700).prefix(frames: 5 * 44_100 / 1152))
        #expect(try await test.call(.get, "/v1/samples/\(TestService.isbn)").json["title"] == "newer")
        options.sampleSeconds = 0
        test.clock.advance(by: .seconds(1))
        _ = try await test.service.ingesting.ingest(test.directory.write("newest.mp3", SilentMP3.frames(800)), options)
        for path in [Self.path, "/v1/samples/\(TestService.isbn)"] {
            let answer = try await test.call(.get, path)
            #expect(answer.status == 404)
            #expect(answer.json["detail"] == "this title has no sample")
        }
    }
}

extension [UInt8] {
    /// The first frames of silence.
    func prefix(frames count: Int) -> [UInt8] {
        let wanted = SilentMP3.frames(count)
        return starts(with: wanted) ? wanted : []
    }
}
