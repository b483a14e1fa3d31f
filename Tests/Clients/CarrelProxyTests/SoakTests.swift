// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// Hours of use in minutes: what the process holds at the end is what it held near the beginning.
@Suite(.serialized, .timeLimit(.minutes(40))) struct `A proxy in long use` {
    private static let isLong = unsafe getenv("CARREL_LONG") != nil
    /// Seconds of players. Four tenths warm up: the arenas of the allocator grow for minutes before they are stable.
    private static let seconds = unsafe getenv("CARREL_SOAK_SECONDS").flatMap { unsafe Double(String(cString: $0)) } ?? 600

    @Test(.enabled(if: isLong, "only with CARREL_LONG=1"))
    func `has flat memory with eight sessions whose players seek, stall and leave`() async throws {
        let large = try await LargeSegments()
        var sources: [SourceRow.Source] = []
        for row in SourceRow.telling { sources.append(try await row.make()) }
        var lines =
            sources.map { ProxyProcess.line($0, .transportStream) } + sources.prefix(3).map { ProxyProcess.line($0, .fragments) }
        lines.append("fragments dash \(large.origin.url("big.mpd"))")
        try #require(lines.count == 8)
        let folder = TemporaryDirectory()
        _ = folder.write("sources", Array(lines.joined(separator: "\n").utf8))
        let path = folder.path
        async let served = #expect(processExitsWith: .success) { [path = path as String] in try await ProxyProcess.serve(path) }
        try await eventually { folder.read("urls") != nil }
        let words = String(decoding: folder.read("urls") ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
        let process = try #require(words.first.flatMap { Int32($0) })
        let warm = try await Self.play(Array(words.dropFirst()), process, for: .seconds(Self.seconds * 0.4), seed: 1)
        let end = try await Self.play(Array(words.dropFirst()), process, for: .seconds(Self.seconds * 0.6), seed: 2)
        print("soak: \(warm), then \(end)")
        #expect(end.mebibytes < warm.mebibytes + (Self.seconds < 300 ? 64 : 24), "\(warm), then \(end)")
        // connections wait for their next request
        #expect(end.descriptors < warm.descriptors + 64 && end.threads <= warm.threads + 2, "\(warm), then \(end)")
        unsafe unlink(folder.file("sources"))
        _ = await served
        let errors = String(decoding: folder.read("errors") ?? [], as: UTF8.self)
        #expect(errors == "")
        for source in sources { await source.end() }
    }

    /// Two players for each address; what the process holds when they have left.
    private static func play(_ urls: [String], _ process: Int32, for time: Duration, seed: UInt64) async throws -> ProcessUse {
        let end = ContinuousClock.now + time
        try await withThrowingTaskGroup(of: RestlessPlayer.self) { group in
            for (place, url) in (urls + urls).enumerated() {
                group.addTask {
                    var player = RestlessPlayer(url, seed: seed << 32 + UInt64(place))
                    try await player.run(until: end)
                    return player
                }
            }
            for try await player in group {
                #expect(player.faults == [])
                #expect(player.played > 0 && player.left > 0)
            }
        }
        // connections that were left are noticed, and those that are kept for the next request end
        return try await ProcessUse.rested(process)
    }

    @Test func `holds nothing of sessions that have ended`() async throws {
        let count = Self.isLong ? 1000 : 100
        let source = try await SourceRow.telling[0].make()
        let run = try ProxyRun()
        try await Self.makeSessions(count / 5, of: source, in: run)
        let warm = try await ProcessUse.rested()
        try await Self.makeSessions(count, of: source, in: run)
        let end = try await ProcessUse.rested()
        #expect(end.mebibytes < warm.mebibytes + 8, "\(warm), then \(end)")
        #expect(end.descriptors <= warm.descriptors + 2 && end.threads <= warm.threads + 2, "\(warm), then \(end)")
        #expect(run.errors.withLock { $0 } == [])
        await run.proxy.stop()
        await source.end()
    }

    private static func makeSessions(_ count: Int, of source: SourceRow.Source, in run: ProxyRun) async throws {
        for number in 0..<count {
            let session = try run.proxy.makeURL(source.address, source.type, keys: source.keys)
            let segments = try await ProxyRun.segments(of: session)
            // some end in the middle of what their player does
            if number % 3 == 0 {
                #expect(try await ProxyRun.get(try #require(segments.first)).status == 200)
                session.end()
            } else {
                async let got = try? ProxyRun.get(try #require(segments.last))
                session.end()
                _ = await got
            }
            #expect(try await ProxyRun.get(session.url).status == 403)
        }
    }
}
