// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
@testable import CarrelMediaSource
@testable import CarrelPresentation
@testable import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `Requests of a session` {
    private static let folder = "media/dash/number-clear"

    @Test func `are as many as its limit, and take nothing from other sessions`() async throws {
        let origin = MadeOrigin(folder: try Fixtures.path(Self.folder))
        let run = try ProxyRun { options in
            options.requestLimit = 2
            options.connectionLimit = 8
        }
        let session = try run.proxy.makeURL(origin.url("manifest.mpd"), .dash)
        let segments = try await ProxyRun.addresses(session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0"))
        let silent = (1...2).map { "v-000\($0 + 1).m4s" }
        try #require(segments.count > 2)
        for path in silent { origin.serve(path, .silent) }
        let client = HTTPClient()
        let waiting = segments[1...2].map { segment in Task { try await client.send(ClientRequest(segment)) } }
        try await eventually { silent.allSatisfy { origin.requests.contains($0) } }
        let refused = try await ProxyRun.get(segments[0])
        #expect(refused.status == 503 && refused.headers["Retry-After"] == "1")
        #expect(run.codes == [.busy])
        let other = try run.proxy.makeURL(try Fixtures.path("\(Self.folder)/manifest.mpd"), .dash)
        for segment in try await ProxyRun.segments(of: other) { #expect(try await ProxyRun.get(segment).status == 200) }
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        // what has ended makes room
        var status = 503
        for _ in 0..<500 where status == 503 { status = try await ProxyRun.get(segments[0]).status }
        #expect(status == 200)
        try await eventually { silent.allSatisfy { origin.gone($0) != nil } }
        await run.proxy.stop()
    }
}

struct `Segments that are open ahead` {
    /// A presentation whose next segment takes its time.
    private final class Slow: Presentation {
        let pause: Duration
        let opened = Locked(0)

        init(_ pause: Duration) {
            self.pause = pause
        }

        let kind = SourceSummary.Kind.dash
        func protections(_ use: KeyUse) -> [MediaProtection] { [] }
        func outline(_ use: KeyUse) -> Outline { Outline() }
        func segments(of rendition: RenditionName, _ use: KeyUse) -> SegmentList { SegmentList() }
        func openInitialization(_ name: SegmentName, _ use: KeyUse) -> ServedMedia {
            ServedMedia(contentType: "", bytes: HeldBytes([]))
        }

        func open(_ name: SegmentName, _ use: KeyUse) -> ServedMedia {
            opened.withLock { $0 += 1 }
            return ServedMedia(contentType: "", bytes: HeldBytes([1]))
        }

        func next(after name: SegmentName) async -> SegmentName? {
            try? await Task.sleep(for: pause)
            return SegmentName(name.rendition, index: name.index + 1)
        }
    }

    private static let name = SegmentName(RenditionName(video: 0), index: 1)

    /// A presentation whose segments come when a test wants it.
    private final class Late: Presentation {
        let opened = Locked(0)
        let result = Locked<Result<[UInt8], any Error>?>(nil)

        let kind = SourceSummary.Kind.dash
        func protections(_ use: KeyUse) -> [MediaProtection] { [] }
        func outline(_ use: KeyUse) -> Outline { Outline() }
        func segments(of rendition: RenditionName, _ use: KeyUse) -> SegmentList { SegmentList() }
        func openInitialization(_ name: SegmentName, _ use: KeyUse) -> ServedMedia {
            ServedMedia(contentType: "", bytes: HeldBytes([]))
        }

        func open(_ name: SegmentName, _ use: KeyUse) async throws -> ServedMedia {
            opened.withLock { $0 += 1 }
            while true {
                if let result = result.withLock({ $0 }) {
                    return ServedMedia(contentType: "", bytes: HeldBytes(try result.get()))
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Requests a segment, and leaves.
    private static func leave(_ ahead: SegmentsAhead, _ presentation: Late, _ use: KeyUse = KeyUse()) async throws {
        let count = presentation.opened.withLock { $0 }
        let request = Task { try await ahead.take(name, of: presentation, use, SystemClock()) }
        try await eventually { presentation.opened.withLock { $0 } > count || ahead.count == 0 }
        try await Task.sleep(for: .milliseconds(20))
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
    }

    @Test func `that a player left are there for its next request, and hold a place of the share`() async throws {
        let share = PrefetchShare(limit: 1)
        let (ahead, presentation) = (SegmentsAhead(share), Late())
        try await Self.leave(ahead, presentation)
        #expect(share.take() == nil)
        let again = Task { try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock()) }
        try await eventually { share.take() != nil }
        again.cancel()
        _ = await again.result
        presentation.result.withLock { $0 = .success([7]) }
        #expect(try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock()).bytes.next() == [7])
        #expect(presentation.opened.withLock { $0 } == 1)
        ahead.end()
        try await eventually { share.take() != nil }
    }

    @Test func `that a player left are opened again if they failed, or have a large first sample, or found no place`()
        async throws
    {
        for (result, places) in [(Result<[UInt8], any Error>.failure(SegmentName.unknown), 1), (.success([]), 0)] {
            let (ahead, presentation) = (SegmentsAhead(PrefetchShare(limit: places)), Late())
            try await Self.leave(ahead, presentation)
            presentation.result.withLock { $0 = result }
            try await Task.sleep(for: .milliseconds(50))
            presentation.result.withLock { $0 = .success([8]) }
            #expect(try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock()).bytes.next() == [8])
            #expect(presentation.opened.withLock { $0 } == 2)
        }
        let (ahead, presentation) = (SegmentsAhead(PrefetchShare(limit: 1)), Late())
        try await Self.leave(ahead, presentation)
        presentation.result.withLock { $0 = .success(Array(repeating: 1, count: 2 << 20)) }
        try await Task.sleep(for: .milliseconds(50))
        #expect(try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock()).bytes.next()?.count == 2 << 20)
        #expect(presentation.opened.withLock { $0 } == 2)
    }

    @Test func `that fail immediately fail with their error, and large ones come, before a request waits`() async throws {
        let presentation = Late()
        for _ in 0..<500 {
            presentation.result.withLock { $0 = .failure(SegmentName.unknown) }
            let ahead = SegmentsAhead(PrefetchShare(limit: 1))
            await #expect(throws: ProxyError.self) {
                try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock())
            }
        }
        // the segment has come long before
        let large = PendingSegment { _ in ServedMedia(contentType: "", bytes: HeldBytes(Array(repeating: 1, count: 2 << 20))) }
        let failed = PendingSegment { _ in throw SegmentName.unknown }
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await large.wait()?.bytes.next()?.count == 2 << 20)
        await #expect(throws: ProxyError.self) { try await failed.wait() }
    }

    @Test func `opens a segment for each of two requests, and fails both together`() async throws {
        let (ahead, presentation) = (SegmentsAhead(PrefetchShare(limit: 1)), Late())
        let both = (0..<2).map { _ in
            Task { try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock()).bytes.next() }
        }
        try await eventually { presentation.opened.withLock { $0 } == 1 }
        try await Task.sleep(for: .milliseconds(50))
        presentation.result.withLock { $0 = .success([9]) }
        for request in both { #expect(try await request.value == [9]) }
        #expect(presentation.opened.withLock { $0 } == 2)
        presentation.result.withLock { $0 = nil }
        let failing = (0..<2).map { _ in Task { try await ahead.take(Self.name, of: presentation, KeyUse(), SystemClock()) } }
        try await eventually { presentation.opened.withLock { $0 } == 3 }
        try await Task.sleep(for: .milliseconds(50))
        presentation.result.withLock { $0 = .failure(SegmentName.unknown) }
        for request in failing { await #expect(throws: ProxyError.self) { try await request.value } }
        #expect(presentation.opened.withLock { $0 } == 3)
    }

    @Test(arguments: [Duration.zero, .seconds(30)]) func `leave nothing open when their session ends`(pause: Duration)
        async throws
    {
        let share = PrefetchShare(limit: 1)
        let ahead = SegmentsAhead(share)
        weak var released: Slow?
        do {
            let presentation = Slow(pause)
            released = presentation
            ahead.open(after: Self.name, of: presentation)
            if pause == .zero { try await eventually { presentation.opened.withLock { $0 } == 1 } }
        }
        #expect(ahead.count > 0)
        let began = ContinuousClock.now
        ahead.end()
        #expect(ahead.count == 0)
        // no sleep holds what the session had
        try await eventually { released == nil }
        try await eventually { share.take() != nil }
        #expect(began.duration(to: .now) < .seconds(10))
        let late = Slow(.zero)
        ahead.open(after: Self.name, of: late)
        #expect(ahead.count == 0)
    }

    @Test func `are as many as the share of all sessions has room for`() async throws {
        let share = PrefetchShare(limit: 2)
        let sessions = (0..<3).map { _ in (ahead: SegmentsAhead(share), presentation: Slow(.zero)) }
        for (ahead, presentation) in sessions { ahead.open(after: Self.name, of: presentation) }
        try await eventually { sessions.reduce(0) { $0 + $1.presentation.opened.withLock { $0 } } == 2 }
        try await Task.sleep(for: .milliseconds(50))
        #expect(sessions.reduce(0) { $0 + $1.presentation.opened.withLock { $0 } } == 2)
        #expect(share.take() == nil)
        // a segment after it keeps the place of the previous one
        let (ahead, presentation) = try #require(sessions.first { $0.presentation.opened.withLock { $0 } == 1 })
        ahead.open(after: SegmentName(Self.name.rendition, index: 2), of: presentation)
        try await eventually { presentation.opened.withLock { $0 } == 2 }
        for (ahead, _) in sessions { ahead.end() }
        try await eventually { share.take() != nil }
    }
}
