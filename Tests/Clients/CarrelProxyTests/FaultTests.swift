// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `An origin that fails` {
    private static let folder = "media/dash/number-clear"
    private let origin: MadeOrigin
    private let run: ProxyRun
    private let session: PlaylistProxy.Session
    private let list: String

    init() throws {
        origin = MadeOrigin(folder: try Fixtures.path(Self.folder))
        run = try ProxyRun()
        session = try run.proxy.makeURL(origin.url("manifest.mpd"), .dash)
        list = session.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0")
    }

    private var codes: [String] { run.errors.withLock { $0.map(\.code.identifier) } }

    private func segments() async throws -> [String] { try await ProxyRun.addresses(list) }

    @Test func `for a moment is not noticed by the player`() async throws {
        let plain = try await ProxyRun.get(try await segments()[0]).body
        for manner in [MadeOrigin.Manner.failing(2, status: 503), .failing(1, status: 500)] {
            origin.serve("v-0001.m4s", manner)
            let answer = try await ProxyRun.get(try await segments()[0])
            #expect(answer.status == 200)
            #expect(answer.body == plain)
        }
        #expect(codes == [])
        await run.proxy.stop()
    }

    static let faults: [(MadeOrigin.Manner, status: Int, code: String, requests: Int)] = [
        (.status(500), 502, "proxy.unavailable", 3), (.status(403), 502, "proxy.unavailable", 1),
        (.status(404), 404, "proxy.missing", 1), (.cut(after: 0), 502, "proxy.wrong-length", 3),
        (.reset(after: 0), 502, "proxy.wrong-length", 3), (.burst, 502, "proxy.damaged", 1),
    ]

    @Test(arguments: faults.indices) func `has a code and a status for each fault, and other segments play`(index: Int)
        async throws
    {
        let (manner, status, code, requests) = Self.faults[index]
        let segments = try await segments()
        origin.serve("v-0002.m4s", manner)
        let answer = try? await ProxyRun.get(segments[1])
        if case .burst = manner {
            // the first of the ten is sent before the others show the fault
        } else {
            #expect(answer?.status == status)
            #expect(codes == [code])
            #expect(origin.requests.count { $0 == "v-0002.m4s" } == requests)
        }
        #expect(try await ProxyRun.get(segments[2]).status == 200)
        let text = try await ProxyRun.text(list)
        #expect(text.hasSuffix("#EXT-X-ENDLIST\n"))
        #expect(LiveList(text).segments.count == 3)
        await run.proxy.stop()
    }

    @Test(arguments: [0, 1]) func `in the middle of a segment breaks the response off`(kind: Int) async throws {
        let segments = try await segments()
        origin.serve("v-0002.m4s", kind == 0 ? .cut(after: 60_000) : .reset(after: 60_000))
        let answer = try? await ProxyRun.get(segments[1])
        #expect(answer == nil || answer?.status == 502)
        #expect(codes == ["proxy.wrong-length"])
        origin.serve("v-0002.m4s", .plain)
        #expect(try await ProxyRun.get(segments[1]).status == 200)
        await run.proxy.stop()
    }

    @Test func `with a damaged segment has its code`() async throws {
        let segments = try await segments()
        for (place, damage) in [0, 100, 4000].enumerated() {
            var bytes = try Fixtures.bytes("\(Self.folder)/v-0002.m4s")
            if damage == 0 {
                bytes = Array("<html>not a segment</html>".utf8)
            } else {
                bytes.replaceSubrange(damage..<damage + 40, with: repeatElement(0xff, count: 40))
            }
            origin.put("v-0002.m4s", bytes)
            let answer = try? await ProxyRun.get(segments[1])
            if damage < 4000 {
                #expect(answer == nil || answer?.status == 502, "\(damage)")
                #expect(codes.count > place && codes.last == "proxy.damaged", "\(damage): \(codes)")
            }
        }
        #expect(try await ProxyRun.get(segments[0]).status == 200)
        await run.proxy.stop()
    }

    @Test func `that is slow plays to the end`() async throws {
        let plain = try await ProxyRun.get(try await segments()[1]).body
        origin.serve("v-0002.m4s", .drip(2000))
        let answer = try await ProxyRun.get(try await segments()[1])
        #expect(answer.body == plain)
        await run.proxy.stop()
    }

    @Test func `with no answer at all stops no other session`() async throws {
        let healthy = MadeOrigin(folder: try Fixtures.path(Self.folder))
        let other = try run.proxy.makeURL(healthy.url("manifest.mpd"), .dash)
        let segments = try await segments()
        origin.serve("v-0002.m4s", .mute)
        let waiting = Task { try await ProxyRun.get(segments[1]) }
        try await eventually { origin.requests.contains("v-0002.m4s") }
        let began = ContinuousClock.now
        let list = other.url.replacing("index.m3u8", with: "media.m3u8?video=0&audio=0")
        for address in try await ProxyRun.addresses(list) { #expect(try await ProxyRun.get(address).status == 200) }
        #expect(began.duration(to: .now) < .seconds(15))
        waiting.cancel()
        await run.proxy.stop()
    }

    @Test(.enabled(if: unsafe getenv("CARREL_LONG") != nil, "only with CARREL_LONG=1"))
    func `with no answer at all has a code after its time`() async throws {
        let segments = try await segments()
        for manner in [MadeOrigin.Manner.mute, .silent] {
            origin.serve("v-0002.m4s", manner)
            #expect(try await ProxyRun.get(segments[1]).status == 502)
        }
        #expect(codes == ["proxy.unavailable", "proxy.unavailable"])
        await run.proxy.stop()
    }

    @Test func `before the first manifest has a code`() async throws {
        for (text, code) in [("<MPD", "proxy.manifest"), ("", "proxy.manifest")] {
            origin.put("broken.mpd", text)
            let broken = try run.proxy.makeURL(origin.url("broken.mpd"), .dash)
            #expect(try await ProxyRun.get(broken.url).status == 502)
            #expect(codes.last == code)
        }
        let absent = try run.proxy.makeURL(origin.url("absent.mpd"), .dash)
        #expect(try await ProxyRun.get(absent.url).status == 404)
        await run.proxy.stop()
    }
}
