// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelBytes
import CarrelHTTPClient
import CarrelMP4
import CarrelTesting
import Testing

@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy

struct `Segment indexes of a session` {
    private let origin = MadeOrigin()

    private func media(_ name: String = "0") throws -> MediaOrigin {
        try MediaOrigin(origin.url(name), client: HTTPClient(), fields: [:], MediaOrigin.Permissions())
    }

    /// Puts an index of many subsegments there.
    private func put(_ name: String, _ count: Int) -> Range<Int64> {
        let references = [SegmentIndexBox.Reference](repeating: .init(size: 1000, duration: 96_256), count: count)
        var writer = BoxWriter()
        SegmentIndexBox(trackID: 1, timescale: 48_000, earliestTime: 96_000, references: references).write(to: &writer)
        origin.put(name, writer.bytes)
        return 0..<Int64(writer.bytes.count)
    }

    private func requests(_ name: String) -> Int { origin.requests.count { $0 == name } }

    @Test func `take no more memory than their bound, and those that were used last are kept`() async throws {
        let cache = IndexCache(try media(), SessionThreads.forTests)
        var ranges: [Range<Int64>] = []
        for number in 0..<12 { ranges.append(put("\(number)", 60_000)) }
        for number in 0..<12 {
            let index = try await cache.index(at: origin.url("\(number)"), ranges[number])
            #expect(index.entries.count == 60_000)
            // the first one is wanted all the time
            _ = try await cache.index(at: origin.url("0"), ranges[0])
            let memory = await cache.memory
            #expect(memory <= 8 << 20 && memory >= min(number + 1, 5) * 60_000 * 24, "\(number): \(memory)")
        }
        #expect(requests("0") == 1)
        for number in 0..<12 { _ = try await cache.index(at: origin.url("\(number)"), ranges[number]) }
        #expect(requests("0") == 1 && requests("2") == 2)
        #expect(await cache.memory <= 8 << 20)
    }

    @Test func `larger than the bound are not kept`() async throws {
        let cache = IndexCache(try media(), SessionThreads.forTests, memoryLimit: 10_000)
        let range = put("0", 1000)
        for time in 1...2 {
            #expect(try await cache.index(at: origin.url("0"), range).entries.count == 1000)
            #expect(requests("0") == time)
        }
        #expect(await cache.memory == 0)
    }

    @Test func `are not waited for longer than their time`() async throws {
        let cache = IndexCache(try media(), SessionThreads.forTests, patience: .milliseconds(500))
        let range = put("0", 1000)
        origin.serve("0", .silent)
        let url = origin.url("0")
        let began = ContinuousClock.now
        let error = await #expect(throws: ProxyError.self) { _ = try await cache.index(at: url, range) }
        #expect(error?.code == .unavailable)
        #expect(began.duration(to: .now) < .seconds(5))
        try await eventually { origin.gone("0") != nil }
    }

    @Test func `are not loaded any more when the session ends`() async throws {
        let range = put("0", 1000)
        let set = """
            <AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="1" codecs="avc1.64000C">\
            <BaseURL>0</BaseURL><SegmentBase indexRange="0-\(range.upperBound - 1)"/></Representation></AdaptationSet>
            """
        origin.put(
            "made.mpd",
            "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\"><Period duration=\"PT9S\">\(set)</Period></MPD>"
        )
        origin.serve("0", .silent)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0")
        let request = Task { try await ProxyRun.get(list) }
        try await eventually { origin.requests.contains("0") }
        try await Task.sleep(for: .milliseconds(200))
        session.end()
        let ended = ContinuousClock.now
        try await eventually { origin.gone("0") != nil }
        #expect(ended.duration(to: .now) < .seconds(10))
        _ = try? await request.value
        await run.proxy.stop()
    }

    @Test func `are loaded once for requests at the same time`() async throws {
        let cache = IndexCache(try media(), SessionThreads.forTests)
        let range = put("0", 20_000)
        let url = origin.url("0")
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { try await cache.index(at: url, range).entries.count } }
            for try await count in group { #expect(count == 20_000) }
        }
        #expect(requests("0") == 1)
    }

    @Test func `have the times and places of their subsegments`() async throws {
        let cache = IndexCache(try media(), SessionThreads.forTests)
        let range = put("0", 3)
        let entries = try await cache.index(at: origin.url("0"), range).entries
        #expect(entries.map(\.time) == [96_000, 192_256, 288_512])
        #expect(entries.map(\.range.lowerBound) == [76, 1076, 2076] && entries.allSatisfy { $0.range.count == 1000 })
        #expect(entries[0].start == .seconds(2))
        #expect(entries[1].start == .seconds(4) + .nanoseconds(5_333_333))
        #expect(entries[2].duration == .seconds(2) + .nanoseconds(5_333_333))
    }

    @Test func `that are damaged, or lead nowhere, are errors of the manifest`() async throws {
        let cache = IndexCache(try media(), SessionThreads.forTests)
        let range = put("0", 3)
        var other = SegmentIndexBox.Reference(size: 0x7fff_ffff, duration: 1)
        other.isIndex = true
        var writer = BoxWriter()
        SegmentIndexBox(trackID: 1, timescale: 1, earliestTime: 0, references: [other]).write(to: &writer)
        origin.put("long", writer.bytes)
        origin.put("none", [UInt8](repeating: 0, count: 100))
        for (name, range) in [("long", 0..<Int64(writer.bytes.count)), ("none", 0..<100), ("0", 0..<range.upperBound - 12)] {
            await #expect {
                _ = try await cache.index(at: origin.url(name), range)
            } throws: { error in
                (error as? ProxyError)?.code == .manifest
            }
        }
        #expect(await cache.memory == 0)
    }
}
