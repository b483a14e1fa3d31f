// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

struct `A key that a server leads elsewhere` {
    @Test func `is refused to every response that waits for it with the reason`() async throws {
        let isOpen = Locked(false)
        let waiting = Locked(0)
        let list =
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n"
            + (0..<3).map { "#EXTINF:1,\n\($0).ts\n" }.joined() + "#EXT-X-ENDLIST\n"
        let foreign = try OriginServer("", address: "127.0.0.2")
        let origin = try OriginServer("") { request in
            let path = request.path.segments.last ?? ""
            if path == "list.m3u8" { return .bytes(Array(list.utf8), type: "application/vnd.apple.mpegurl") }
            if path != "key" { return .bytes(Array(repeating: 0, count: 1 << 10), type: "video/mp2t") }
            waiting.withLock { $0 += 1 }
            while !isOpen.withLock({ $0 }), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(10)) }
            return .redirect(to: "\(foreign.origin)/key", status: .temporaryRedirect)
        }
        let run = try ProxyRun()
        let session = try run.proxy.makeURL("\(origin.origin)/list.m3u8", .hls)
        let segments = try await ProxyRun.segments(of: session)
        let requests = segments.map { segment in Task { try await ProxyRun.get(segment) } }
        try await eventually { waiting.withLock { $0 } == 1 && origin.requests.count { $0.path.hasSuffix(".ts") } == 3 }
        try await Task.sleep(for: .milliseconds(300))
        isOpen.withLock { $0 = true }
        for request in requests {
            let got = try await request.value
            #expect(got.status == 403)
            #expect(String(decoding: got.body, as: UTF8.self).contains("proxy.address"))
        }
        #expect(waiting.withLock { $0 } == 1 && foreign.requests.isEmpty)
        #expect(run.codes == [.address, .address, .address])
        await run.proxy.stop()
        await origin.stop()
        await foreign.stop()
    }
}
