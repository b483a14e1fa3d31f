// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `A DASH source with a period that misses a track` {
    private let origin = MadeOrigin()
    private static let durations = [2000, 2000, 2000]

    /// Puts a source whose periods have the tracks that their letters name.
    private func put(_ periods: [String], text: String = "WEBVTT\n\n00:01.000 --> 00:01.500\nHere\n") throws {
        var manifest = MadeManifest(periods: [])
        for name in ["v", "a"] { origin.put("\(name)-init.mp4", try Fixtures.bytes("media/dash/number-clear/\(name)-init.mp4")) }
        for (place, tracks) in periods.enumerated() {
            let start = place * 6
            var period = MadeManifest.Period(start: start, duration: 6, tracks: [])
            if tracks.contains("v") { period.tracks.append(.video(Self.durations)) }
            if tracks.contains("a") { period.tracks.append(.audio(Self.durations)) }
            if tracks.contains("t") { period.tracks.append(.text([6000])) }
            manifest.periods.append(period)
            origin.put("t-\(start)-0.m4s", text)
            for (number, name) in [(1, "v"), (2, "v"), (3, "v"), (1, "a"), (2, "a"), (3, "a")] {
                let bytes = try Fixtures.bytes("media/dash/number-clear/\(name)-000\(number).m4s")
                origin.put("\(name)-\(start)-\((number - 1) * 2000).m4s", bytes)
            }
        }
        origin.put("made.mpd", manifest.text)
    }

    /// A playlist: the durations of its segments, with `!` after a discontinuity and `-` for a gap.
    private static func shape(_ text: String) -> [String] {
        var (mark, duration) = ("", "")
        var shape: [String] = []
        for line in text.split(separator: "\n") {
            if line == "#EXT-X-DISCONTINUITY" { mark += "!" }
            if line == "#EXT-X-GAP" { mark += "-" }
            if line.hasPrefix("#EXTINF:") { duration = String(line.dropFirst(8).prefix { $0.isNumber }) }
            guard !line.hasPrefix("#") else { continue }
            shape.append(mark + duration)
            mark = ""
        }
        return shape
    }

    @Test func `has gaps in the rendition, so that all keep in step`() async throws {
        try put(["vat", "v", "at", "vat"])
        let run = try ProxyRun { ($0.output, $0.rules) = (.fragments, .rfc) }
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let base = session.url.replacing("index.m3u8", with: "media.m3u8?")
        let whole = ["2", "2", "2"]
        let later = ["!2", "2", "2"]
        let gap = ["!-2", "-2", "-2"]
        #expect(Self.shape(try await ProxyRun.text(base + "video=0")) == whole + later + gap + later)
        #expect(Self.shape(try await ProxyRun.text(base + "audio=0")) == whole + gap + later + later)
        #expect(Self.shape(try await ProxyRun.text(base + "text=0")) == ["6"] + gap + ["!6", "!6"])
        // players that load a gap get nothing to play
        let audio = try await ProxyRun.addresses(base + "audio=0")[3]
        let empty = try await ProxyRun.get(audio)
        #expect(empty.status == 200 && empty.body.count < 300)
        #expect(try await ProxyRun.get(audio.replacing("segment.m4s", with: "init.mp4")).status == 200)
        let text = try await ProxyRun.addresses(base + "text=0")
        #expect(try await ProxyRun.text(text[1]) == "WEBVTT\n\n")
        #expect(try await ProxyRun.text(text[4]).contains("Here"))
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `plays in transport streams what each period has`() async throws {
        try put(["va", "v", "a", "va"])
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let segments = try await ProxyRun.segments(of: session)
        #expect(segments.count == 12)
        let tracks = segments.map { ($0.contains("video=0") ? "v" : "") + ($0.contains("audio=0") ? "a" : "") }
        #expect(tracks == ["va", "va", "va", "v", "v", "v", "a", "a", "a", "va", "va", "va"])
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures + clear.pictures + clear.pictures)
        #expect(played.audio.count >= 3 * (clear.audio.count - 1))
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `plays its pictures and its audio together`() async throws {
        try put(["va", "v", "va"])
        let run = try ProxyRun { $0.demuxesAudio = true }
        let session = try run.proxy.makeURL(origin.url("made.mpd"), .dash)
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        let played = try await Frames.ffmpeg(session.url)
        #expect(played.pictures == clear.pictures + clear.pictures + clear.pictures)
        #expect(played.audio.count >= 2 * (clear.audio.count - 1))
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
