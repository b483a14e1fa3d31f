// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS
import CarrelTesting
import CarrelVideo
import Testing

/// The bytes of a transport stream that ffmpeg makes.
private func encoded(_ arguments: [String]) async throws -> [UInt8] {
    let directory = TemporaryDirectory()
    let ffmpeg = try requirePeer("ffmpeg")
    try await checkProcess([ffmpeg, "-v", "error"] + arguments + ["-f", "mpegts", directory.file("a.ts")])
    return try #require(directory.read("a.ts"))
}

/// The streams and units of one stream, written by our muxer in segments of two seconds, each by a muxer of its own.
private func segmented(_ read: Demuxed, _ streams: [ElementaryStream]) throws -> [UInt8] {
    let first = read.units.map(\.decodeTime).min() ?? 0
    var whole: [UInt8] = []
    var segment = 0
    var left = read.units
    while !left.isEmpty {
        let end = first + Int64(segment + 1) * 180_000
        whole += try mux(left.filter { $0.decodeTime < end }, streams, segment: segment)
        left.removeAll { $0.decodeTime < end }
        segment += 1
    }
    return whole
}

/// The source of a stream: arguments of ffmpeg, and our description of its streams.
struct PeerSource: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var arguments: [String]
    var streams: [ElementaryStream]

    static let all: [PeerSource] = {
        let source = (Fixtures.directory ?? "") + "/media/src/"
        let sine = ["-f", "lavfi", "-i", "sine=frequency=440:duration=5:sample_rate=48000"]
        let tones: [(String, [String], ElementaryStream)] = [
            ("AC-3", ["-c:a", "ac3", "-ac", "2"], .ac3(pid: 0x100)), ("E-AC-3", ["-c:a", "eac3"], .enhancedAC3(pid: 0x100)),
            ("MP3", ["-c:a", "libmp3lame"], .mpegAudio(pid: 0x100, isHalfRate: false)),
            ("MPEG-2 MP3", ["-c:a", "libmp3lame", "-ar", "22050"], .mpegAudio(pid: 0x100, isHalfRate: true)),
            ("Layer II", ["-c:a", "mp2"], .mpegAudio(pid: 0x100, isHalfRate: false)),
            ("AAC", ["-c:a", "aac", "-ar", "44100", "-ac", "1"], .aac(pid: 0x100)),
        ]
        return [
            PeerSource(
                testDescription: "H.264 and AAC",
                arguments: ["-i", source + "av-h264-aac.mp4", "-c", "copy"],
                streams: [.video(.h264, pid: 0x100), .aac(pid: 0x101)]
            ),
            PeerSource(
                testDescription: "H.265 and AAC",
                arguments: ["-i", source + "av-hevc-aac.mp4", "-c", "copy"],
                streams: [.video(.h265, pid: 0x100), .aac(pid: 0x101)]
            ),
        ] + tones.map { PeerSource(testDescription: $0.0, arguments: sine + $0.1, streams: [$0.2]) }
    }()
}

struct `Our transport streams in other tools` {
    @Test(arguments: PeerSource.all)
    func `decode to the same frames, without a warning of ffprobe or GStreamer`(source: PeerSource) async throws {
        _ = try Fixtures.path("media/src/av-h264-aac.mp4")
        let (ffmpeg, ffprobe, gst) = (try requirePeer("ffmpeg"), try requirePeer("ffprobe"), try requirePeer("gst-launch-1.0"))
        let original = try await encoded(source.arguments)
        var read = try Demuxed(original)
        #expect(read.faults == [])
        #expect(read.units.count > 100)
        // a tag every second in parallel
        let tag: [UInt8] =
            Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 21] + Array("TXXX".utf8) + [0, 0, 0, 11, 0, 0, 3]
            + Array("a".utf8) + [0] + Array("12345678".utf8)
        let start = read.units.map(\.decodeTime).min() ?? 0
        for second in 0..<4 {
            read.units.append(
                AccessUnit(pid: 0x102, presentationTime: start + Int64(second) * 90_000 + 7, isRandomAccess: true, data: tag)
            )
        }
        let made = try segmented(read, source.streams + [.timedID3(pid: 0x102)])
        #expect(StreamCheck(made, clockPID: 0x100).faults == [])
        let again = try Demuxed(made)
        #expect(again.faults == [])
        for stream in source.streams {
            let same = again.units(stream.pid).map(\.data) == read.units(stream.pid).map(\.data)
            #expect(same)
        }
        let directory = TemporaryDirectory()
        let (one, other) = (directory.write("a.ts", original), directory.write("b.ts", made))
        let probed = try await runProcess([ffprobe, "-v", "warning", "-show_packets", other])
        #expect(probed.status.isSuccess)
        // ffprobe has no decoder for timed ID3 and says so, of its own streams too
        #expect(probed.errorText.split(separator: "\n").filter { !$0.hasPrefix("Unsupported codec with id 98313") } == [])
        for kind in source.streams.count > 1 ? ["v", "a"] : ["a"] {
            let hash = ["-map", "0:\(kind)", "-f", "framehash", "-"]
            let theirs = try await checkProcess([ffmpeg, "-v", "error", "-i", one] + hash)
            let ours = try await checkProcess([ffmpeg, "-v", "error", "-i", other] + hash)
            let hashes = { (text: String) in
                text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: ",").last }
            }
            #expect(hashes(ours) == hashes(theirs))
            #expect(hashes(ours).count >= 100)
        }
        for chain in Self.chains { #expect(try await Self.complaints(gst, of: other, chain) == [], "\(chain)") }
    }

    private static let chains = [["tsdemux"], ["tsparse", "!", "tsdemux"]]

    /// GStreamer's warnings while it reads a stream.
    private static func complaints(_ gst: String, of path: String, _ chain: [String]) async throws -> [String] {
        let result = try await runProcess(
            ["env", "GST_DEBUG=2", "GST_DEBUG_NO_COLOR=1", gst, "-q", "filesrc", "location=\(path)", "!"] + chain + [
                "!", "fakesink",
            ]
        )
        #expect(result.status.isSuccess, "\(result.errorText)")
        // reported for every file, and for every stream of MPEG audio
        let known = ["<filesrc0> pad not activated yet", "Unexpected MPEG-1 layer"]
        return (result.text + "\n" + result.errorText).split(separator: "\n").map(String.init)
            .filter { line in !known.contains { line.contains($0) } }
    }

    @Test(arguments: ["three packets are missing", "a packet is overwritten"])
    func `would not pass GStreamer if they were damaged`(damage: String) async throws {
        _ = try Fixtures.path("media/src/av-h264-aac.mp4")
        let (gst, source) = (try requirePeer("gst-launch-1.0"), PeerSource.all[0])
        let read = try Demuxed(try await encoded(source.arguments))
        var made = try segmented(read, source.streams)
        let packet = 188
        if damage.hasPrefix("three") {
            made.removeSubrange(200 * packet..<203 * packet)
        } else {
            made.replaceSubrange(200 * packet..<201 * packet, with: Array(repeating: 0x55, count: packet))
        }
        let path = TemporaryDirectory()
        let damaged = path.write("damaged.ts", made)
        for chain in Self.chains { #expect(try await Self.complaints(gst, of: damaged, chain) != [], "\(chain)") }
    }
}
