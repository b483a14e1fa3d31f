// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelHTTP
import CarrelHTTPClient
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
@testable import CarrelMediaSource
@testable import CarrelProxy
import CarrelTS
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

/// Protected sources whose responses are longer than what connections hold.
private struct LargeSource {
    static let key: [UInt8] = (0..<16).map { $0 }
    let folder = TemporaryDirectory()

    /// A DCF of 48 MiB.
    func container() throws -> String {
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 7, low: 9) }
        let clear = [UInt8](repeating: 0x5a, count: 48 << 20)
        let headers = DCFHeaders(cipher: .counter, contentID: "cid:one@example")
        try writer.write(BytesReader(clear), contentType: "audio/mpeg", headers, key: Secret(Self.key))
        _ = folder.write("large.dcf", try writer.finish().bytes)
        return folder.file("large.dcf")
    }

    /// An MP4 file of Common Encryption, about 40 MiB in two segments.
    func movie() async throws -> String {
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-f", "lavfi", "-i",
            "testsrc2=s=1280x720:r=10,noise=alls=80:allf=t",
            "-t", "9", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "4", "-pix_fmt", "yuv420p", "-g", "30",
            "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", Hex.encode(Self.key), "-encryption_kid",
            "00112233445566778899aabbccddeeff", folder.file("large.mp4"),
        ])
        return folder.file("large.mp4")
    }
}

extension LargeSource {
    /// A transport stream scrambled with one key, about 40 MiB.
    fileprivate func stream() async throws -> String {
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-f", "lavfi", "-i",
            "testsrc2=s=1280x720:r=10,noise=alls=80:allf=t", "-t", "9", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "4",
            "-pix_fmt", "yuv420p", "-g", "10", "-f", "mpegts", "-mpegts_flags", "pat_pmt_at_frames", folder.file("large.ts"),
        ])
        var bytes = try #require(folder.read("large.ts"))
        var scrambler = try PacketScrambler(pids: [0x100], key: Secret(Self.key), parity: .even)
        let count = bytes.count
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        try scrambler.scramble(&raw, in: 0..<count)
        _ = folder.write("large.ts", bytes)
        return folder.file("large.ts")
    }
}

struct `A key that ends` {
    private static let start = Instant(milliseconds: 1_000_000_000_000)

    private static func granted(until end: Instant?) -> ContentKeyAnswer {
        .granted(ContentKeyGrant(key: LargeSource.key, relaxesOutput: true, end: end))
    }

    /// Reads until the response ends.
    private static func rest(of stream: ClientStream) async -> (count: Int, isCut: Bool) {
        var count = 0
        do {
            while let piece = try await stream.next() { count += piece.count }
            return (count, false)
        } catch {
            return (count, true)
        }
    }

    @Test(arguments: ["dcf", "mp4", "ts"]) func `cuts a response that the player does not read`(kind: String) async throws {
        let source = LargeSource()
        let path =
            switch kind {
            case "dcf": try source.container()
            case "mp4": try await source.movie()
            default: try await source.stream()
            }
        let (clock, run) = (ManualClock(Self.start), try ProxyRun())
        let keys = SetKeys(Self.granted(until: Self.start + .seconds(60)))
        let session = try run.proxy.makeURL(path, .singleFile, keys: keys, clock: clock)
        let url = kind == "dcf" ? session.url : try #require(try await ProxyRun.segments(of: session).first)
        let client = HTTPClient()
        let stream = try await client.open(ClientRequest(url, maxResponseBytes: .max))
        _ = try await stream.next()
        // all that the connection holds is on its way
        try await Task.sleep(for: .milliseconds(500))
        #expect(run.codes == [])
        clock.advance(by: .seconds(59))
        // the watch over keys makes another round
        let rounds = run.clock.sleeps
        run.clock.advance(by: .seconds(1))
        try await eventually { run.clock.sleeps > rounds }
        #expect(run.codes == [])
        clock.advance(by: .seconds(1))
        try await eventually { run.codes == [.expiredKey] }
        let (count, isCut) = await Self.rest(of: stream)
        #expect(isCut && count < 16 << 20)
        #expect(run.codes == [.expiredKey])
        // the next request is refused, and a key that was renewed counts
        try await ProxyRun.expectRefusal(url, .expiredKey, 403, of: run)
        keys.set(Self.granted(until: Self.start + .seconds(120)))
        let renewed = try? await ProxyRun.get(url)
        #expect(renewed?.status == 200, "\(run.errors.withLock { $0 })")
        await run.proxy.stop()
    }

    @Test func `cuts a response whose origin sends nothing more`() async throws {
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .cissa
            options.audioKeys = options.videoKeys
        }
        let isWaiting = Locked(false)
        let origin = try OriginServer(package.path) { request in
            let path = request.path.segments.joined(separator: "/")
            guard path.hasSuffix("/2.ts"), let bytes = Fixtures.bytes(at: "\(package.path)/\(path)") else { return nil }
            return HTTPResponse(
                .ok,
                headers: ["Content-Type": "video/mp2t"],
                body: .stream(length: bytes.count) { writer in
                    try await writer.write(Array(bytes.prefix(188 * 40)))
                    isWaiting.withLock { $0 = true }
                    try await Task.sleep(for: .seconds(60))
                }
            )
        }
        // real time, as players have it
        let run = try ProxyRun()
        let keys = SetKeys(Self.granted(until: nil))
        let session = try run.proxy.makeURL("\(origin.origin)/master.m3u8", .hls, keys: keys)
        let segments = try await ProxyRun.segments(of: session)
        let began = ContinuousClock.now
        keys.set(Self.granted(until: .now() + .seconds(6)))
        let running = Task { try await ProxyRun.get(segments[1]) }
        try await eventually { isWaiting.withLock { $0 } }
        let result = await running.result
        // before the client of the origin gives up
        #expect((.seconds(5.5)...Duration.seconds(18)).contains(began.duration(to: .now)))
        #expect(throws: (any Error).self) { try result.get() }
        #expect(run.codes == [.expiredKey])
        await run.proxy.stop()
        await origin.stop()
    }

    @Test func `ends requests that wait for their first byte with a status`() async throws {
        let package = try await ProtectedPackage { options in
            options.scheme = .cenc
            options.audioKeys = options.videoKeys
        }
        let state = Locked((isSilent: false, waiting: 0))
        let origin = try OriginServer(package.path) { _ in
            guard state.withLock({ $0.isSilent }) else { return nil }
            state.withLock { $0.waiting += 1 }
            try? await Task.sleep(for: .seconds(60))
            return nil
        }
        let run = try ProxyRun()
        let clock = ManualClock(Self.start)
        let keys = SetKeys(Self.granted(until: Self.start + .seconds(60)))
        let session = try run.proxy.makeURL("\(origin.origin)/manifest.mpd", .dash, keys: keys, clock: clock)
        let segments = try await ProxyRun.segments(of: session)
        // the initialization segments are there
        #expect(try await ProxyRun.get(segments[0]).status == 200)
        state.withLock { $0.isSilent = true }
        let running = Task { try await ProxyRun.get(try #require(segments.last)) }
        try await eventually { state.withLock { $0.waiting } > 0 }
        clock.advance(by: .seconds(60))
        #expect(try await running.value.status == 403)
        #expect(run.codes == [.expiredKey])
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: ["hls", "dash"]) func `is refused in the middle of playing where its source stops granting`(kind: String)
        async throws
    {
        let run = try ProxyRun()
        let keys = SetKeys(Self.granted(until: nil))
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .aes128
            options.audioKeys = options.videoKeys
            options.keyURI = "urn:marlin-drm?CID={kid}"
        }
        let dash = try await ProtectedPackage { options in
            options.scheme = .cenc
            options.audioKeys = options.videoKeys
        }
        let session =
            kind == "hls"
            ? try run.proxy.makeURL(package.playlist, .hls, keys: keys)
            : try run.proxy.makeURL("\(dash.path)/manifest.mpd", .dash, keys: keys)
        let other = try run.proxy.makeURL(package.playlist, .hls, keys: SetKeys(Self.granted(until: nil)))
        let segments = try await ProxyRun.segments(of: session)
        #expect(try await ProxyRun.get(segments[0]).status == 200)
        keys.set(.refused("the account was closed"))
        // one segment may be open ahead
        for segment in segments.dropFirst(2) { try await ProxyRun.expectRefusal(segment, .refusedKey, 403, of: run) }
        #expect(segments.count > 2)
        for segment in try await ProxyRun.segments(of: other) { #expect(try await ProxyRun.get(segment).status == 200) }
        await run.proxy.stop()
    }

    @Test func `is watched for while there are responses`() async throws {
        let timer = SteppedClock()
        let watch = KeyWatch(timer.monotonic)
        let clock = ManualClock(Self.start)
        let (one, other, ended) = (KeyUse(), KeyUse(), Locked<[String]>([]))
        one.join([other])
        let first = watch.add(one, clock) { _ in ended.withLock { $0.append("one") } }
        let second = watch.add(KeyUse(), clock) { _ in ended.withLock { $0.append("none") } }
        // a key that comes later, of a use that was joined
        other.note(Self.granted(until: Self.start + .seconds(1)))
        let rounds = timer.sleeps
        timer.advance(by: .seconds(1))
        try await eventually { timer.sleeps > rounds }
        #expect(ended.withLock { $0 } == [] && watch.isRunning)
        clock.advance(by: .seconds(3600))
        try await eventually { ended.withLock { $0 } == ["one"] }
        #expect(!watch.remove(first) && watch.remove(second))
        try await eventually { !watch.isRunning }
        _ = watch.add(one, clock) { _ in ended.withLock { $0.append("again") } }
        try await eventually { ended.withLock { $0 } == ["one", "again"] }
        try await eventually { !watch.isRunning }
    }
}
