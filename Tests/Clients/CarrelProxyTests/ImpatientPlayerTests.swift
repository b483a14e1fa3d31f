// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelMediaSource
import CarrelProxy
import CarrelReader
import CarrelTesting
import CarrelThreads
import Testing

/// A player that gives each request a few seconds, and then sends it again.
struct `A player that leaves before the first byte` {
    private let folder: TemporaryDirectory
    private let origin: MadeOrigin
    private let traces = Locked<[Trace]>([])
    private let errors = Locked<[ProxyError]>([])
    private let proxy: PlaylistProxy

    init() throws {
        let package = try #require(Fixtures.directory)
        folder = TemporaryDirectory()
        origin = MadeOrigin(folder: "\(package)/media/dash/number-clear")
        proxy = try PlaylistProxy { [errors] error in
            errors.withLock { $0.append(error) }
        } trace: { [traces] event in
            traces.withLock { $0.append(event) }
        }
        try proxy.start()
    }

    /// The departures in the trace.
    private var departures: [Trace] {
        traces.withLock { $0.filter { $0.message == "the player left before the first byte" } }
    }

    @Test(arguments: ["v-0001.m4s", "a-0001.m4s"])
    func `gets the segment at its next request, of one request at the origin, and the trace names it`(path: String) async throws {
        let session = try proxy.makeURL(origin.url("manifest.mpd"), .dash)
        let segments = try await ProxyRun.addresses(try #require(try await ProxyRun.addresses(session.url).first))
        let plain = try await ProxyRun.get(segments[0]).body
        origin.serve(path, .late(3000))
        let before = origin.requests.count { $0 == path }
        let (client, address) = (HTTPClient(), segments[0])
        for count in 1...3 {
            let request = Task { try await client.send(ClientRequest(address, maxResponseBytes: 64 << 20)) }
            try await Task.sleep(for: .milliseconds(500))
            request.cancel()
            await #expect(throws: (any Error).self) { try await request.value }
            try await eventually { departures.count >= count }
        }
        let got = try await ProxyRun.get(address)
        #expect(got.status == 200 && got.body == plain)
        #expect(origin.requests.count { $0 == path } == before + 1)
        #expect(errors.withLock { $0 } == [])
        let fields = try #require(departures.first).fields
        #expect(fields.first?.name == "segment" && fields.first?.value.description.hasPrefix("period=0&video=0") == true)
        let took = Double(try #require(fields.last).value.description.dropLast()) ?? 0
        #expect(fields.last?.name == "took" && 0.2...2 ~= took, "\(fields)")
        await proxy.stop()
    }

    /// GStreamer gives a request ten seconds, and sends it four times.
    @Test(.timeLimit(.minutes(3))) func `plays to the end in GStreamer if a segment comes after 11 or 25 seconds`() async throws {
        let gst = try requirePeer("gst-launch-1.0")
        let ffmpeg = try requirePeer("ffmpeg")
        try await checkProcess([
            ffmpeg, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-f", "lavfi", "-i", "sine", "-t",
            "6",
            "-c:v", "libx264", "-preset", "ultrafast", "-g", "50", "-keyint_min", "50", "-sc_threshold", "0", "-pix_fmt",
            "yuv420p",
            "-c:a", "aac", "-f", "hls", "-hls_time", "2", "-hls_playlist_type", "vod", folder.file("late.m3u8"),
        ])
        let open = try PlaylistProxy(
            options: { options in
                var options = options
                options.policy = .open
                return options
            }(PlaylistProxy.Options())
        ) { [errors] error in errors.withLock { $0.append(error) } }
        try open.start()
        try await withThrowingTaskGroup { group in
            for seconds in [11, 25] {
                let origin = MadeOrigin(folder: folder.path)
                origin.serve("late1.ts", .late(UInt32(seconds * 1000)))
                let session = try open.makeURL(origin.url("late.m3u8"), .hls)
                let made = folder.file("pictures-\(seconds)")
                group.addTask { [origin] in
                    let result = try await runProcess(
                        [
                            gst, "-q", "uridecodebin3", "name=all", "uri=\(session.url)", "all.", "!", "queue", "!",
                            "videoconvert",
                            "!", "video/x-raw,format=I420", "!", "filesink", "location=\(made)", "all.", "!", "queue", "!",
                            "fakesink",
                        ],
                        timeout: .seconds(120)
                    )
                    #expect(result.status.isSuccess && result.errorText == "", "\(seconds): \(result.errorText)")
                    let (size, pictureSize) = (folder.read("pictures-\(seconds)")?.count ?? 0, 320 * 180 * 3 / 2)
                    #expect(size == 150 * pictureSize, "\(seconds): \(size / pictureSize) pictures")
                    let requests = origin.requests.filter { $0 == "late1.ts" }
                    #expect(requests.count == 1, "\(seconds): \(origin.requests)")
                }
            }
            try await group.waitForAll()
        }
        #expect(errors.withLock { $0 } == [])
        await open.stop()
        await proxy.stop()
    }
}
