// SPDX-License-Identifier: Apache-2.0

// The playlist proxy, of which the `run` script measures the process from outside.
//
//   ProxyBench serve SOURCE KEY COUNT    COUNT sessions of a DASH source; their addresses on standard output, until standard
//   input ends ProxyBench first DIRECT PLAYLIST     the first byte of 200 segments through the proxy and straight from the
//   origin, in turns ProxyBench fetch PLAYLIST            all segments in order
//   ProxyBench licensed SOURCE FOLDER COUNT    the same as serve, with the stored licenses of the player in FOLDER
//   ProxyBench compare PLAYLIST PLAYLIST       the first byte of 200 segments of two sessions of one source, in turns
//   ProxyBench play SECONDS PLAYLIST…    each playlist as a player in real time: late segments
//   ProxyBench playlist PLAYLIST         the time of the first request, and the median of the next
//   ProxyBench remux FOLDER KEY NAMES…   decryption and remultiplexing of segments in memory

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelLicenseKeys
import CarrelMP4
import CarrelMedia
import CarrelMediaSource
import CarrelPlayer
import CarrelProxy
import CarrelThreads
import CarrelVault
import Glibc

let client = HTTPClient(configuration: HTTPClientConfiguration(maxConnectionsPerHost: 600, maxConnections: 600))

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "serve": try await serve(arguments[1], arguments[2], Int(arguments[3]) ?? 1)
case "licensed": try await serve(arguments[1], licensesOf: arguments[2], Int(arguments[3]) ?? 1)
case "compare": try await compareFirstBytes(arguments[1], arguments[2])
case "first": try await measureFirstBytes(arguments[1], arguments[2])
case "fetch": try await fetch(arguments[1])
case "play": try await play(Int(arguments[1]) ?? 20, Array(arguments[2...]))
case "playlist": try await measurePlaylist(arguments[1])
case "remux": try await remux(arguments[1], arguments[2], Array(arguments[3...]))
default: print("usage: see main.swift")
}

func serve(_ source: String, _ key: String, _ count: Int) async throws {
    var keys = GivenKeys()
    if key != "-" { try keys.add(key) }
    try await serve(source, keys, count)
}

func serve(_ source: String, licensesOf folder: String, _ count: Int) async throws {
    let passphrase = unsafe getenv("CARREL_VAULT_PASSPHRASE").map { unsafe String(cString: $0) } ?? ""
    let vault = try await Vault.file(folder: "\(folder)/vault", passphrase: passphrase)
    let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "ProxyBench", build: "1"))
    try await serve(source, LicenseKeys(engine), count)
    await engine.shutdown()
}

func serve(_ source: String, _ keys: some ContentKeySource, _ count: Int) async throws {
    let proxy = try PlaylistProxy { error in print("error: \(error.code.identifier) \(error.message)") }
    try proxy.start()
    for _ in 0..<count { print(try proxy.makeURL(source, .dash, keys: keys).url) }
    print("ready")
    fflush(nil)
    while readLine() != nil {}
    await proxy.stop()
}

func get(_ url: String) async throws -> [UInt8] {
    let response = try await client.send(ClientRequest(url, maxResponseBytes: 1 << 30))
    guard response.status.rawValue == 200 else { throw MediaError(.malformed, "\(url): status \(response.status.rawValue)") }
    return response.body
}

/// The segments of the first variant, with their durations in seconds.
func segments(_ top: String) async throws -> [(url: String, seconds: Double)] {
    let variant = try await lines(top).first { !$0.hasPrefix("#") } ?? ""
    let media = URIReference.resolve(variant, against: top)
    var seconds = 0.0
    var segments: [(String, Double)] = []
    for line in try await lines(media) {
        if line.hasPrefix("#EXTINF:") { seconds = Double(line.dropFirst(8).prefix { $0 != "," }) ?? 0 }
        if !line.hasPrefix("#") { segments.append((URIReference.resolve(line, against: media), seconds)) }
    }
    return segments
}

func lines(_ url: String) async throws -> [String] {
    String(decoding: try await get(url), as: UTF8.self).split(separator: "\n").map(String.init)
}

func firstByte(_ url: String) async throws -> Duration {
    let began = ContinuousClock.now
    let stream = try await client.open(ClientRequest(url, maxResponseBytes: 1 << 30))
    _ = try await stream.next()
    let took = began.duration(to: .now)
    while try await stream.next() != nil {}
    return took
}

func median(_ values: [Duration]) -> Double {
    let sorted = values.sorted()
    return sorted[sorted.count / 2] / .milliseconds(1)
}

func measureFirstBytes(_ direct: String, _ top: String) async throws {
    let segments = try await segments(top)
    var (straight, sought, ahead): ([Duration], [Duration], [Duration]) = ([], [], [])
    var place = 0
    for _ in 0..<200 {
        straight.append(try await firstByte(direct))
        // a seek: nothing is open ahead of it
        place = (place + segments.count / 2 + 1) % segments.count
        sought.append(try await firstByte(segments[place].url))
        straight.append(try await firstByte(direct))
        place = (place + 1) % segments.count
        if place > 0 { ahead.append(try await firstByte(segments[place].url)) }
    }
    print("first byte: direct \(median(straight)) ms; after a seek \(median(sought)) ms; of the next segment \(median(ahead)) ms")
}

func compareFirstBytes(_ given: String, _ licensed: String) async throws {
    let (first, second) = (try await segments(given), try await segments(licensed))
    var (plain, stored): ([Duration], [Duration]) = ([], [])
    var place = 0
    for _ in 0..<200 {
        // a seek: nothing is open ahead of it
        place = (place + first.count / 2 + 1) % first.count
        plain.append(try await firstByte(first[place].url))
        stored.append(try await firstByte(second[place].url))
    }
    let (a, b) = (median(plain), median(stored))
    print("first byte after a seek: with --key \(a) ms, with a stored license \(b) ms: \(b - a) ms later")
}

func fetch(_ top: String) async throws {
    var count = 0
    let began = ContinuousClock.now
    for segment in try await segments(top) {
        let stream = try await client.open(ClientRequest(segment.url, maxResponseBytes: 1 << 30))
        while let piece = try await stream.next() { count += piece.count }
    }
    print("\(count) \(began.duration(to: .now) / .seconds(1))")
}

func play(_ seconds: Int, _ tops: [String]) async throws {
    let late = Locked(0)
    let fetched = Locked(0)
    let slowest = Locked(Duration.zero)
    try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, top) in tops.enumerated() {
            group.addTask {
                // players do not begin together
                try await Task.sleep(for: .milliseconds(10 * number))
                let segments = try await segments(top)
                let began = ContinuousClock.now
                var media = 0.0
                for segment in segments {
                    // one segment is played while the next one is fetched
                    let due = began + .seconds(media)
                    if due > .now { try await Task.sleep(until: due) }
                    guard began.duration(to: .now) < .seconds(seconds) else { return }
                    let asked = ContinuousClock.now
                    let stream = try await client.open(ClientRequest(segment.url, maxResponseBytes: 1 << 30))
                    while try await stream.next() != nil {}
                    let took = asked.duration(to: .now)
                    fetched.withLock { $0 += 1 }
                    slowest.withLock { $0 = max($0, took) }
                    if took > .seconds(segment.seconds) { late.withLock { $0 += 1 } }
                    media += segment.seconds
                }
            }
        }
        try await group.waitForAll()
    }
    print(
        "\(fetched.withLock { $0 }) segments, \(late.withLock { $0 }) late, the slowest \(slowest.withLock { $0 } / .milliseconds(1)) ms"
    )
}

func measurePlaylist(_ top: String) async throws {
    let media = URIReference.resolve("media.m3u8?video=0", against: top)
    var times: [Duration] = []
    var count = 0
    for _ in 0..<21 {
        let began = ContinuousClock.now
        count = try await get(media).count
        times.append(began.duration(to: .now))
    }
    print("playlist of \(count) bytes: first \(times[0] / .milliseconds(1)) ms, then \(median(Array(times.dropFirst()))) ms")
}

struct CountingSink: MediaSink {
    var count = 0
    mutating func write(_ bytes: RawSpan) { count += bytes.byteCount }
    mutating func overwrite(_ bytes: RawSpan, at offset: Int64) {}
}

/// Remultiplexes pairs of video and audio segments, after the two initialization segments.
func remux(_ folder: String, _ key: String, _ names: [String]) async throws {
    var keys = GivenKeys()
    if key != "-" { try keys.add(key) }
    let files = try names.map { name in
        let file = try LocalFile("\(folder)/\(name)")
        return try file.readAll(0..<file.length)
    }
    var best = Duration.seconds(1000)
    for _ in 0..<5 {
        let began = ContinuousClock.now
        for place in stride(from: 2, to: files.count, by: 2) {
            var remux = SegmentRemux(
                [
                    try await SegmentRemux.Stream(initialization: files[0], keys: keys),
                    try await SegmentRemux.Stream(initialization: files[1], keys: keys),
                ],
                number: 0
            )
            var offsets = [0, 0]
            var sink = CountingSink()
            while let stream = try await remux.write(to: &sink, keys: keys) {
                let file = files[place + stream]
                let end = min(file.count, offsets[stream] + 256 << 10)
                if offsets[stream] < end {
                    let piece = Array(file[offsets[stream]..<end])
                    remux.append(piece.rawSpan, to: stream)
                } else {
                    remux.end(stream)
                }
                offsets[stream] = end
            }
        }
        best = min(best, began.duration(to: .now))
    }
    print("\(files.dropFirst(2).reduce(0) { $0 + $1.count }) \(best / .seconds(1))")
}
