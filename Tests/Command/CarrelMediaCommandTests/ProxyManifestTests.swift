// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `The command proxy with a manifest whose parts multiply` {
    /// A server of one manifest, and of one segment of pictures.
    private static func server(_ text: String) throws -> LoopbackServer {
        let folder = "media/dash/number-clear"
        let manifest = Array(text.utf8)
        let (initialization, segment) = (try Fixtures.bytes("\(folder)/v-init.mp4"), try Fixtures.bytes("\(folder)/v-0001.m4s"))
        return LoopbackServer { connection in
            while let request = connection.readRequest() {
                let body =
                    request.target.hasSuffix(".mpd")
                    ? manifest : request.target.hasSuffix("init.mp4") ? initialization : segment
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                guard connection.write(body) else { return }
            }
        }
    }

    private static func manifest(_ attributes: String, _ inner: String) -> String {
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" minBufferTime=\"PT2S\" \(attributes)>\(inner)</MPD>"
    }

    private static func set(_ kind: String, _ codecs: String, _ inner: String) -> String {
        "<AdaptationSet mimeType=\"\(kind)/mp4\" contentType=\"\(kind)\" codecs=\"\(codecs)\">\(inner)</AdaptationSet>"
    }

    private static func template(_ timescale: Int, _ entries: String) -> String {
        """
        <SegmentTemplate timescale="\(timescale)" media="$RepresentationID$-$Time$.m4s" initialization="init.mp4">\
        <SegmentTimeline>\(entries)</SegmentTimeline></SegmentTemplate>
        """
    }

    /// A proxy of the manifest, which does not end with its input.
    private static func proxy(_ server: LoopbackServer) throws -> BackgroundProcess {
        try BackgroundProcess([
            "/bin/sh", "-c", "exec \"$0\" proxy \"$1\" < /dev/null", try CarrelProgram.path(),
            "http://127.0.0.1:\(server.port)/large.mpd",
        ])
    }

    /// A proxy of the manifest whose address has been printed.
    private static func readyProxy(_ server: LoopbackServer) async throws -> (process: BackgroundProcess, url: String) {
        let process = try proxy(server)
        let url = try await process.waitForLine(containing: "index.m3u8", timeout: .seconds(60))
        return (process, url)
    }

    private static func get(_ url: String, seconds: Int = 60) async throws -> String {
        try await runProcess([try requirePeer("curl"), "-s", "-m", "\(seconds)", url], timeout: .seconds(seconds + 10)).text
    }

    /// The most memory that a process has held, in MiB.
    private static func peak(of process: BackgroundProcess) throws -> Int {
        let text = String(decoding: try #require(Fixtures.bytes(at: "/proc/\(process.processID)/status")), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) }) / 1024
    }

    /// The most memory that a process of its own holds while it reads a live manifest again and again, in MiB.
    private static func peak(entries: Int, representations: Int) async throws -> Int {
        var timeline = ""
        for _ in 0..<entries / 2 { timeline += "<S d=\"1000\"/><S d=\"1001\"/>" }
        var inner = Self.template(1000, timeline)
        for number in 0..<representations { inner += "<Representation id=\"\(number)\" bandwidth=\"\(number + 1)\"/>" }
        // its end is in the future
        let start = "\(Instant.now() - .seconds(entries / 2))"
        let server = try Self.server(
            Self.manifest(
                "type=\"dynamic\" minimumUpdatePeriod=\"PT4S\" availabilityStartTime=\"\(start)\"",
                "<Period start=\"PT0S\">\(Self.set("video", "avc1.64000C", inner))</Period>"
            )
        )
        let (process, url) = try await Self.readyProxy(server)
        let list = url.replacing("index.m3u8", with: "media.m3u8?video=0")
        for _ in 0..<5 {
            #expect(try await Self.get(list).hasPrefix("#EXTM3U"))
            try await Task.sleep(for: .milliseconds(1300))
        }
        let peak = try Self.peak(of: process)
        process.signal(SIGTERM)
        #expect(try await process.waitForExit() == .exited(0))
        return peak
    }

    @Test func `holds at most 64 MiB more than with a short one`() async throws {
        let short = try await Self.peak(entries: 20, representations: 2)
        for (entries, representations) in [(200_000, 200), (100_000, 5000)] {
            let long = try await Self.peak(entries: entries, representations: representations)
            #expect(long - short <= 64, "\(entries) entries, \(representations) representations: \(long) MiB, \(short) MiB")
        }
    }

    @Test func `ends within two seconds of a signal while it works`() async throws {
        func timeline(_ timescale: Int, _ more: Int) -> String {
            Self.template(timescale, "<S t=\"0\" d=\"\(2 * timescale + more)\" r=\"199999\"/>")
        }
        var pictures = ""
        for number in 0..<2000 {
            pictures +=
                "<Representation id=\"\(number)\" bandwidth=\"1\">\(timeline(1000 + number, number == 0 ? 0 : 1))</Representation>"
        }
        let audio = timeline(1000, 0) + "<Representation id=\"a\" bandwidth=\"1\"/>"
        let sets = Self.set("video", "avc1.64000C", pictures) + Self.set("audio", "mp4a.40.2", audio)
        let server = try Self.server(Self.manifest("type=\"static\"", "<Period duration=\"PT400000S\">\(sets)</Period>"))
        // its check works on the manifest, too
        let process = try Self.proxy(server)
        try await eventually { server.connectionCount > 0 }
        try await Task.sleep(for: .milliseconds(500))
        let began = ContinuousClock.now
        process.signal(SIGTERM)
        #expect(try await process.waitForExit() == .exited(0))
        #expect(began.duration(to: .now) < .seconds(2))
    }
}
