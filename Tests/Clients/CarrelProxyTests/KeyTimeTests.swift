// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMedia
import CarrelMediaPackaging
@testable import CarrelMediaSource
@testable import CarrelProxy
import CarrelTesting
import CarrelThreads
import Testing

/// A source of keys whose answer a test sets.
final class SetKeys: ContentKeySource {
    private let state: Locked<(answer: ContentKeyAnswer, asked: Int)>

    init(_ answer: ContentKeyAnswer) {
        state = Locked((answer, 0))
    }

    func set(_ answer: ContentKeyAnswer) { state.withLock { $0.answer = answer } }

    /// How often it was asked.
    var asked: Int { state.withLock { $0.asked } }

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        state.withLock { state in
            state.asked += 1
            return state.answer
        }
    }
}

struct `Keys in time` {
    private static let key: [UInt8] = (0..<16).map { $0 }
    private static let start = Instant(milliseconds: 1_000_000_000_000)

    private static func granted(until end: Instant? = nil) -> ContentKeyAnswer { .granted(ContentKeyGrant(key: key, end: end)) }

    private static func package(_ scheme: TransportScheme = .aes128) async throws -> ProtectedPackage {
        try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = scheme
            options.audioKeys = options.videoKeys
            options.keyURI = "urn:marlin-drm?CID={kid}"
        }
    }

    @Test func `fail with their own code if they are missing and the player does not wait`() async throws {
        let package = try await Self.package()
        let run = try ProxyRun()
        let keys = SetKeys(.pending)
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        try await ProxyRun.expectRefusal(segment, .pendingKey, 503, of: run)
        keys.set(Self.granted())
        #expect(try await ProxyRun.get(segment).status == 200)
        keys.set(.refused("the device is not known"))
        try await ProxyRun.expectRefusal(segment, .refusedKey, 403, of: run)
        await run.proxy.stop()
    }

    @Test func `are waited for until their source has them`() async throws {
        let package = try await Self.package()
        let run = try ProxyRun { $0.licenseWait = .implicitly }
        let keys = SetKeys(.pending)
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        let running = Task { try await ProxyRun.get(segment).status }
        try await eventually { keys.asked >= 2 }
        keys.set(Self.granted())
        #expect(try await running.value == 200)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test(arguments: [false, true]) func `are waited for until the app says that they are there`(isNamed: Bool) async throws {
        let package = try await Self.package()
        let run = try ProxyRun { $0.licenseWait = .untilUnblocked }
        let keys = SetKeys(.pending)
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        let status = Locked(0)
        let running = Task {
            let got = try await ProxyRun.get(segment).status
            status.withLock { $0 = got }
        }
        try await eventually { run.proxy.gate.waitingCount == 1 }
        keys.set(Self.granted())
        run.proxy.unblock(.content("another"))
        // the license of another key resumes nothing
        try await Task.sleep(for: .milliseconds(200))
        #expect(status.withLock { $0 } == 0 && keys.asked == 1)
        if isNamed { run.proxy.unblock(.key, "00112233445566778899aabbccddeeff") } else { run.proxy.unblock() }
        try await running.value
        #expect(status.withLock { $0 } == 200)
        await run.proxy.stop()
    }

    /// A source that gets its key for a token.
    private final class TokenKeys: LicenseTokenReceiver {
        let tokens = Locked<[String]>([])
        let asked = Locked(0)

        func receive(licenseToken: String) async { tokens.withLock { $0.append(licenseToken) } }

        func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
            asked.withLock { $0 += 1 }
            return tokens.withLock { $0 }.isEmpty ? .pending : `Keys in time`.granted()
        }
    }

    @Test func `are redeemed by the token that the app passes in`() async throws {
        let package = try await Self.package()
        let run = try ProxyRun { $0.licenseWait = .untilUnblocked }
        let keys = TokenKeys()
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        let running = Task { try await ProxyRun.get(segment).status }
        try await eventually { run.proxy.gate.waitingCount == 1 }
        run.proxy.unblock(.key, "another")
        // the license of another key resumes nothing
        try await Task.sleep(for: .milliseconds(200))
        #expect(keys.asked.withLock { $0 } == 1)
        run.proxy.unblock(.token, "<token/>")
        #expect(try await running.value == 200)
        #expect(keys.tokens.withLock { $0 } == ["<token/>"])
        await run.proxy.stop()
    }

    @Test func `are waited for until a license of their kind is there`() async throws {
        let gate = LicenseGate()
        let names: [ContentKeyName] = [.content("urn:one"), .id([0xab, 0xcd]), .address("https://keys.example/1"), .track(1)]
        let run = Locked<[Int]>([])
        await withTaskGroup { group in
            for (place, name) in names.enumerated() {
                group.addTask {
                    await gate.wait(for: name, after: 0, .seconds(60))
                    run.withLock { $0.append(place) }
                }
            }
            while gate.waitingCount < names.count { await Task.yield() }
            for place in names.indices {
                gate.open { $0 == names[place] }
                while run.withLock({ $0.count }) <= place { await Task.yield() }
                #expect(run.withLock { $0 } == Array(0...place))
            }
        }
    }

    @Test func `that are waited for when the session ends hold nothing`() async throws {
        let package = try await Self.package()
        let run = try ProxyRun { $0.licenseWait = .untilUnblocked }
        let keys = SetKeys(.pending)
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segment = try #require(try await ProxyRun.segments(of: session).first)
        let running = Task { try await ProxyRun.get(segment).status }
        try await eventually { keys.asked >= 1 }
        let began = ContinuousClock.now
        session.end()
        _ = await running.result
        #expect(began.duration(to: .now) < .seconds(5))
        await run.proxy.stop()
    }

    @Test(arguments: [TransportScheme.aes128, .cissa]) func `that end in the middle of a segment cut it`(scheme: TransportScheme)
        async throws
    {
        let package = try await Self.package(scheme)
        let clock = ManualClock(Self.start)
        let gate = Locked(false)
        let hasBegun = Locked(false)
        let origin = try OriginServer(package.path) { request in
            let path = request.path.segments.joined(separator: "/")
            guard path.hasSuffix("/2.ts"), let bytes = Fixtures.bytes(at: "\(package.path)/\(path)") else { return nil }
            return HTTPResponse(
                .ok,
                headers: ["Content-Type": "video/mp2t"],
                body: .stream(length: bytes.count) { writer in
                    try await writer.write(Array(bytes[..<(188 * 40)]))
                    hasBegun.withLock { $0 = true }
                    while !gate.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
                    try await writer.write(Array(bytes[(188 * 40)...]))
                }
            )
        }
        let run = try ProxyRun()
        let keys = SetKeys(Self.granted(until: Self.start + .seconds(60)))
        let session = try run.proxy.makeURL("\(origin.origin)/master.m3u8", .hls, keys: keys, clock: clock)
        let segments = try await ProxyRun.segments(of: session)
        let running = Task { try await ProxyRun.get(segments[1]) }
        try await eventually { hasBegun.withLock { $0 } }
        try await Task.sleep(for: .milliseconds(200))
        clock.advance(by: .seconds(60))
        gate.withLock { $0 = true }
        let result = await running.result
        #expect(throws: (any Error).self) { _ = try result.get() }
        #expect(run.codes == [.expiredKey])
        // before the body it is a status
        _ = run.proxy.takeLastError()
        try await ProxyRun.expectRefusal(segments[0], .expiredKey, 403, of: run)
        // a key that was renewed counts
        keys.set(Self.granted(until: Self.start + .seconds(120)))
        #expect(try await ProxyRun.get(segments[0]).status == 200)
        await run.proxy.stop()
        await origin.stop()
    }

    @Test(arguments: [TransportScheme.aes128, .cissa]) func `that are others are a status before the body`(
        scheme: TransportScheme
    ) async throws {
        let package = try await Self.package(scheme)
        let run = try ProxyRun()
        let keys = SetKeys(.granted(ContentKeyGrant(key: Array(repeating: 0xee, count: 16))))
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let segments = try await ProxyRun.segments(of: session)
        // the first byte under a wrong key is a sync byte once in 256 segments
        for segment in segments.prefix(1) { try await ProxyRun.expectRefusal(segment, .damaged, 502, of: run) }
        await run.proxy.stop()
    }

    /// Slices keep their headers, so that audio tells first.
    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `that are others are a status before the body of audio in fragments`(output: PlaylistProxy.Output) async throws {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        let run = try ProxyRun { $0.output = output }
        let keys = SetKeys(.granted(ContentKeyGrant(key: Array(repeating: 0xee, count: 16))))
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?audio=0")
        let segment = try #require(try await ProxyRun.addresses(list).first)
        try await ProxyRun.expectRefusal(segment, .damaged, 502, of: run)
        await run.proxy.stop()
    }
}
