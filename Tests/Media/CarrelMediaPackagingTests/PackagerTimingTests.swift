// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelTesting
import ProtectedMedia
import Testing

private let source = "src/av-h264-aac.mp4"

struct `The times of a package` {
    /// Makes a film with ffmpeg.
    private static func film(_ directory: TemporaryDirectory, _ name: String, _ words: [String]) async throws -> String {
        let path = directory.file(name)
        try await checkProcess([try requirePeer("ffmpeg"), "-v", "error"] + words + [path])
        return path
    }

    private static func playlist(_ run: PackagingRun, _ name: String) throws -> MediaPlaylist {
        let bytes = try run.bytes("\(name).m3u8")
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else { throw Malformed("no media playlist", at: 0) }
        return playlist
    }

    /// ffprobe's output for a file of the package.
    private static func probe(_ run: PackagingRun, _ name: String, _ words: [String]) async throws -> String {
        try await checkProcess(
            [try requirePeer("ffprobe"), "-v", "error"] + words + ["-of", "csv=p=0", "\(run.path)/\(name)"]
        )
    }

    private static func seconds(_ playlist: MediaPlaylist) -> [Double] { playlist.segments.map { $0.duration / .seconds(1) } }

    /// The places of a box of the source by its type, in order.
    private static func places(_ type: String, in bytes: [UInt8]) -> [Int] {
        bytes.indices.dropLast(4).filter { Array(bytes[$0..<$0 + 4]) == Array(type.utf8) }
    }

    private static func put(_ value: UInt32, at place: Int, in bytes: inout [UInt8]) {
        for i in 0..<4 { bytes[place + i] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * i)) }
    }

    // MARK: - Rotation

    @Test(arguments: [PackagingOptions.Layout.segments, .ranges])
    func `keep the rotation and the displayed size of pictures`(layout: PackagingOptions.Layout) async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(
            directory,
            "turned.mp4",
            ["-i", try Fixtures.path("media/\(source)"), "-c", "copy", "-metadata:s:v", "rotate=90"]
        )
        let original = try #require(try MP4File(LocalFile(path)).tracks.first { $0.kind == "vide" })
        let display = try #require(original.display)
        #expect(!display.isUpright)
        for scheme in [nil, CommonEncryptionScheme.cbcs] {
            let run = try await PackagingRun([path], PackagingRun.options(scheme, layout))
            let whole = try MP4File(BytesReader(run.whole(run.summary.tracks[0])))
            #expect(whole.tracks[0].display == display)
            let (width, height) = (original.entries[0].width, original.entries[0].height)
            #expect(try run.text("master.m3u8").contains("RESOLUTION=\(height)x\(width),"))
            #expect(try run.text("manifest.mpd").contains("width=\"\(height)\" height=\"\(width)\""))
            #expect(run.summary.tracks[0].width == height)
            guard scheme == nil else { continue }
            _ = run.directory.write("out/whole.mp4", try run.whole(run.summary.tracks[0]))
            let words = ["-v", "error", "-show_entries", "stream_side_data=rotation", "-of", "csv=p=0"]
            let turn = try await checkProcess([try requirePeer("ffprobe")] + words + ["\(run.path)/whole.mp4"])
            let expected = try await checkProcess([try requirePeer("ffprobe")] + words + [path])
            #expect(turn.filter { !$0.isWhitespace } == expected.filter { !$0.isWhitespace } && turn.contains("90"), "\(turn)")
        }
    }

    @Test func `keep the shape of pictures whose samples are not square`() async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(
            directory,
            "wide.mp4",
            ["-f", "lavfi", "-i", "testsrc2=s=720x576:r=25:d=2", "-vf", "setsar=16/11", "-c:v", "libx264"]
        )
        let run = try await PackagingRun([path], PackagingRun.options(nil))
        let track = try MP4File(BytesReader(run.whole(run.summary.tracks[0]))).tracks[0]
        #expect(track.display?.width == 1047 << 16 | 17873 || track.display?.size?.width == 1047)
        #expect(try run.text("master.m3u8").contains("RESOLUTION=1047x576,"))
    }

    // MARK: - The edit list

    @Test(arguments: [3480, 5000, 5960])
    func `end with the presented part of the pictures`(milliseconds: UInt32) async throws {
        let directory = TemporaryDirectory()
        var bytes = try Fixtures.bytes("media/\(source)")
        for place in Self.places("elst", in: bytes) { Self.put(milliseconds, at: place + 12, in: &bytes) }
        let path = directory.write("trimmed.mp4", bytes)
        let run = try await PackagingRun([path], PackagingRun.options(.cenc))
        let file = try await PackagingRun.clear(run.whole(run.summary.tracks[0]), run.keys)
        var samples = file.samples(of: file.tracks[0])
        var times: [Int64] = []
        // the presentation begins at 80 ms
        while let sample = try samples.next() { times.append(sample.decodeTime + sample.compositionOffset - 1024) }
        let end = Int64(milliseconds) * 12_800 / 1000
        let presented = Int((milliseconds + 39) / 40)
        // every picture of the presented part is there; of the others, those that are decoded before one of it
        #expect(Set(times.filter { $0 < end }) == Set((0..<presented).map { Int64($0) * 512 }))
        #expect(try #require(times.last) < end)
        #expect(times.count <= presented + 3)
        let playlist = try Self.playlist(run, "video-1")
        #expect(abs(playlist.duration / .milliseconds(1) - Double(presented * 40)) < 2)
        #expect(try run.text("manifest.mpd").contains("mediaPresentationDuration=\"PT\(milliseconds / 1000)."))
        // what is only decoded comes at the end, and no edit list moves the pictures
        #expect(times.allSatisfy { $0 < end + 16 })
        #expect(try MP4File(BytesReader(run.whole(run.summary.tracks[0]))).tracks[0].editList.edits.isEmpty)
    }

    @Test func `end with the presented part in transport streams too`() async throws {
        let directory = TemporaryDirectory()
        var bytes = try Fixtures.bytes("media/\(source)")
        for place in Self.places("elst", in: bytes) { Self.put(5000, at: place + 12, in: &bytes) }
        var options = PackagingRun.options(nil)
        options.isTransport = true
        let run = try await PackagingRun([directory.write("trimmed.mp4", bytes)], options)
        let playlist = try Self.playlist(run, "video-1")
        #expect(playlist.segments.count == 3 && abs(playlist.duration / .milliseconds(1) - 5000) < 2)
        let count = try await Self.probe(run, "video-1.m3u8", ["-count_packets", "-show_entries", "stream=nb_read_packets"])
        #expect((125...128).contains(Int(count.prefix { $0.isNumber }) ?? 0), "\(count)")
    }

    // MARK: - Sound and pictures of different length

    @Test func `cuts audio that outlasts the pictures like other audio`() async throws {
        let directory = TemporaryDirectory()
        func make(_ name: String, _ size: String) async throws -> String {
            try await Self.film(
                directory,
                name,
                [
                    "-f", "lavfi", "-i", "testsrc2=s=\(size):r=25:d=5", "-f", "lavfi", "-i", "anoisesrc=d=21:r=48000:a=0.3",
                    "-c:v", "libx264", "-g", "50", "-sc_threshold", "0", "-c:a", "aac",
                ]
            )
        }
        let films = [try await make("a.mp4", "320x180"), try await make("b.mp4", "160x90")]
        for isTransport in [false, true] {
            var options = PackagingRun.options(nil)
            options.isTransport = isTransport
            let run = try await PackagingRun(films, options)
            // the two files have the same sound, which is one rendition
            #expect(run.summary.tracks.map(\.segmentCount) == [3, 3, 11])
            let sound = Self.seconds(try Self.playlist(run, "audio-1"))
            #expect(sound.allSatisfy { (0.9...3.1).contains($0) }, "\(sound)")
            #expect(abs(sound.reduce(0, +) - 21) < 0.1)
        }
    }

    @Test(arguments: [false, true])
    func `does not shift audio that begins late`(isTransport: Bool) async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(
            directory,
            "late.mp4",
            [
                "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=12", "-itsoffset", "5.5", "-f", "lavfi", "-i",
                "anoisesrc=d=6:r=48000:a=0.3", "-c:v", "libx264", "-g", "50", "-sc_threshold", "0", "-bf", "0", "-c:a", "aac",
            ]
        )
        var options = PackagingRun.options(nil)
        options.isTransport = isTransport
        let run = try await PackagingRun([path], options)
        let playlist = try Self.playlist(run, "audio-1")
        #expect(playlist.segments.map(\.isGap) == [true, true, false, false, false, false])
        let durations = Self.seconds(playlist)
        #expect(durations.prefix(2) == [2, 2] && abs(durations.reduce(0, +) - 11.5) < 0.1, "\(durations)")
        #expect(try run.bytes(playlist.segments[0].uri).count > 8)
        // audio begins at the same time in the audio-only playlist and with the video
        let origin = isTransport ? 10.0 : 0
        for name in ["audio-1.m3u8", "master.m3u8"] {
            let result = try await runProcess([
                try requirePeer("ffprobe"), "-v", "error", "-select_streams", "a", "-show_entries", "packet=pts_time", "-of",
                "csv=p=0", "\(run.path)/\(name)",
            ])
            let first = result.text.split(separator: "\n").first.flatMap { Double($0.filter { $0.isNumber || $0 == "." }) }
            #expect(abs((first ?? 0) - origin - 5.5) < 0.05, "\(name): \(result.text.prefix(40))")
        }
        // and a player plays it then
        let played = run.directory.file("played.mkv")
        try await checkProcess([
            try requirePeer("mpv"), "--no-config", "--really-quiet", "--o=\(played)", "--oac=pcm_s16le", "--ovc=mpeg4",
            "\(run.path)/master.m3u8",
        ])
        for (kind, start) in [("a", 5.5), ("v", 0)] {
            let times = try await checkProcess([
                try requirePeer("ffprobe"), "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time", "-of",
                "csv=p=0", played,
            ])
            let first = times.split(separator: "\n").first.flatMap { Double($0.filter { $0.isNumber || $0 == "." }) }
            #expect(abs((first ?? -1) - start) < 0.1, "\(kind): \(times.prefix(40))")
        }
        guard !isTransport else { return }
        let manifest = try run.text("manifest.mpd")
        #expect(manifest.contains("media=\"audio-1/$Number$.m4s\" startNumber=\"1\""))
    }

    // MARK: - A beginning that cannot be decoded

    @Test func `begin with the first sync sample, and a warning`() async throws {
        let directory = TemporaryDirectory()
        var bytes = try Fixtures.bytes("media/\(source)")
        let place = try #require(Self.places("stss", in: bytes).first) + 8
        Self.put(4, at: place, in: &bytes)
        for (i, sample) in [51, 101, 151, 201].enumerated() { Self.put(UInt32(sample), at: place + 4 + i * 4, in: &bytes) }
        let path = directory.write("cut.mp4", bytes)
        let run = try await PackagingRun([path], PackagingRun.options(.cbcs))
        #expect(run.summary.warnings.count == 1)
        #expect(run.summary.warnings.first?.contains("50 pictures before the first sync sample at 2.000 s") == true)
        #expect(run.summary.warnings.first?.contains("cut.mp4") == true)
        let file = try await PackagingRun.clear(run.whole(run.summary.tracks[0]), run.keys)
        var samples = file.samples(of: file.tracks[0])
        let first = try #require(try samples.next())
        // the presentation begins at 40 ms, after the priming of the sound
        #expect(first.isSync && first.decodeTime + first.compositionOffset == 25_600 + 512)
        var count = 1
        while try samples.next() != nil { count += 1 }
        #expect(count == 200)
        // audio exists from the beginning, and video keeps its position relative to it
        let pictures = try Self.playlist(run, "video-1")
        #expect(pictures.segments.map(\.isGap) == [true, false, false, false, false])
        #expect(abs(pictures.duration / .seconds(1) - 10) < 0.05)
        #expect(try Self.playlist(run, "audio-1").segments.count == 5)
    }

    // MARK: - Bit rates

    @Test func `do not make a short last segment the peak`() async throws {
        let directory = TemporaryDirectory()
        // noise in the last half second
        let path = try await Self.film(
            directory,
            "end.mp4",
            [
                "-f", "lavfi", "-i", "color=s=320x180:r=25:d=8", "-f", "lavfi", "-i",
                "nullsrc=s=320x180:r=25:d=0.4,geq=random(1)*255",
                "-filter_complex", "[0][1]concat=n=2", "-c:v", "libx264", "-g", "50", "-sc_threshold", "0",
            ]
        )
        let run = try await PackagingRun([path], PackagingRun.options(nil))
        let playlist = try Self.playlist(run, "video-1")
        let sizes = try playlist.segments.map { try Double(run.bytes($0.uri).count) * 8 }
        let durations = Self.seconds(playlist)
        #expect(durations.count == 5 && durations[4] < 1)
        let master = try run.text("master.m3u8")
        let line = try #require(master.split(separator: "\n").first { $0.hasPrefix("#EXT-X-STREAM-INF:") })
        let value = line.split(separator: ":")[1].split(separator: ",").first { $0.hasPrefix("BANDWIDTH=") }
        let digits = try #require(value)
        let bandwidth = try #require(Double(digits.dropFirst(10)))
        // the last segment counts with the one before it: alone it is shorter than half a target duration
        let expected = (sizes[3] + sizes[4]) / (durations[3] + durations[4])
        #expect(abs(bandwidth - expected) < 2, "\(bandwidth) \(expected)")
        #expect(bandwidth < sizes[4] / durations[4] / 2)
    }
}
