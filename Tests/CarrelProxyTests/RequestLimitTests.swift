@testable import CarrelProxy
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelTesting
import CarrelThreads
import Testing

struct `Requests of a session` {
    private static let folder = "media/dash/number-clear"

    @Test func `are as many as its limit, and take nothing from other sessions`() async throws {
        let origin = MadeOrigin(folder: try Fixtures.path(Self.folder))
        let run = try ProxyRun { options in
            options.requestLimit = 3
            options.connectionLimit = 8
        }
        let session = try run.proxy.makeURL(origin.url("manifest.mpd"), .dash)
        let segments = try await ProxyRun.addresses(session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0"))
        origin.serve("v-0002.m4s", .silent)
        let client = HTTPClient()
        let waiting = (0..<3).map { _ in Task { try await client.send(ClientRequest(segments[1])) } }
        try await eventually { origin.requests.count { $0 == "v-0002.m4s" } == 3 }
        let refused = try await ProxyRun.get(segments[0])
        #expect(refused.status == 503 && refused.headers["Retry-After"] == "1")
        #expect(run.codes == [.busy])
        let other = try run.proxy.makeURL(try Fixtures.path("\(Self.folder)/manifest.mpd"), .dash)
        for segment in try await ProxyRun.segments(of: other) { #expect(try await ProxyRun.get(segment).status == 200) }
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        // what has ended makes room
        try await eventually { origin.gone("v-0002.m4s") != nil }
        var status = 503
        for _ in 0..<500 where status == 503 { status = try await ProxyRun.get(segments[0]).status }
        #expect(status == 200)
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
        func protections() -> [MediaProtection] { [] }
        func outline() -> Outline { Outline() }
        func segments(of rendition: RenditionName) -> SegmentList { SegmentList() }
        func openInitialization(_ name: SegmentName) -> ServedMedia { ServedMedia(contentType: "", bytes: HeldBytes([])) }

        func open(_ name: SegmentName) -> ServedMedia {
            opened.withLock { $0 += 1 }
            return ServedMedia(contentType: "", bytes: HeldBytes([1]))
        }

        func next(after name: SegmentName) async -> SegmentName? {
            try? await Task.sleep(for: pause)
            return SegmentName(name.rendition, index: name.index + 1)
        }
    }

    private static let name = SegmentName(RenditionName(video: 0), index: 1)

    @Test(arguments: [Duration.zero, .seconds(30)]) func `leave nothing behind when their session ends`(pause: Duration)
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
        // a segment behind it keeps the place of the one before
        let (ahead, presentation) = try #require(sessions.first { $0.presentation.opened.withLock { $0 } == 1 })
        ahead.open(after: SegmentName(Self.name.rendition, index: 2), of: presentation)
        try await eventually { presentation.opened.withLock { $0 } == 2 }
        for (ahead, _) in sessions { ahead.end() }
        try await eventually { share.take() != nil }
    }
}
