// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Testing

/// Streams that `decrypt` and `package` read: manifests, top playlists and addresses.
extension `The command decrypt` {
    /// Fragments with audio apart, in DASH and HLS.
    private static let fragments = [
        "stream=video,init_segment={}/vi.mp4,segment_template={}/v$Number$.m4s,playlist_name=v.m3u8",
        "stream=1,init_segment={}/ai.mp4,segment_template={}/a$Number$.m4s,playlist_name=a.m3u8,hls_group_id=audio,hls_name=english",
    ]
    /// Transport streams with packed audio apart.
    private static let transport = [
        "stream=video,segment_template={}/v$Number$.ts,playlist_name=v.m3u8",
        "stream=1,segment_template={}/a$Number$.aac,playlist_name=a.m3u8,hls_group_id=audio,hls_name=english",
    ]

    /// Packs the film as a stream; clear without a scheme.
    private func stream(_ scheme: String?, _ streams: [String]) async throws {
        let path = try await film()
        let keys = [
            "--enable_raw_key_encryption", "--keys", "label=:key_id=\(Self.id):key=\(Self.key)", "--clear_lead", "0",
            "--protection_scheme", scheme ?? "",
        ]
        let isTransport = streams == Self.transport
        try await checkProcess(
            [try StreamingPeer.packager.path()] + streams.map { "in=\(path),\($0.replacing("{}", with: directory.path))" }
                + (scheme == nil ? [] : keys) + ["--hls_master_playlist_output", directory.file("master.m3u8")]
                + (isTransport ? [] : ["--mpd_output", directory.file("film.mpd"), "--generate_static_live_mpd"])
        )
    }

    /// The times of the first picture and the first sound, in seconds.
    private func starts(_ path: String) async throws -> [Double] {
        var starts: [Double] = []
        for kind in ["v", "a"] {
            let text = try await checkProcess([
                try requirePeer("ffprobe"), "-v", "error", "-select_streams", kind, "-show_entries", "frame=pts_time", "-of",
                "csv=p=0", "-read_intervals", "%+#20", path,
            ])
            starts.append(try #require(text.split(whereSeparator: { $0 == "\n" || $0 == "," }).first.flatMap { Double($0) }))
        }
        return starts
    }

    private func names() throws -> [String] { try FixtureFolder.names(in: directory.path).sorted() }

    private func checkFilm(_ name: String) async throws {
        let (clear, source) = (try await frames(name, "v"), try await frames("film.mp4", "v"))
        #expect(clear == source && clear.count == 50)
        let (audio, sound) = (try await frames(name, "a"), try await frames("film.mp4", "a"))
        // the frame that primes the decoder may be heard or not
        #expect(audio.suffix(80) == sound.suffix(80) && audio.count >= sound.count)
        let (times, own) = (try await starts(directory.file(name)), try await starts(directory.file("film.mp4")))
        #expect(abs((times[1] - times[0]) - (own[1] - own[0])) < 0.03, "\(times) and not \(own)")
    }

    @Test(arguments: ["film.mpd", "master.m3u8"], ["clear.mp4", "clear.ts"])
    func `reads a manifest and a top playlist of fragments with audio apart`(source: String, output: String) async throws {
        try await stream("cbcs", Self.fragments)
        _ = try await decrypt(source, output)
        try await checkFilm(output)
    }

    @Test(arguments: ["clear.mp4", "clear.ts"])
    func `reads a top playlist of transport streams with audio apart`(output: String) async throws {
        try await stream("cbcs", Self.transport)
        _ = try await decrypt("master.m3u8", output, "*")
        try await checkFilm(output)
    }

    @Test func `reads a stream from a server, and reports omitted tracks`() async throws {
        try await stream(
            "cenc",
            Self.fragments + [
                Self.fragments[1].replacing("stream=1", with: "stream=2").replacing("a$", with: "b$")
                    .replacing("ai.", with: "bi.").replacing("a.m3u8", with: "b.m3u8").replacing("english", with: "french")
            ]
        )
        let server = LoopbackServer { [directory] connection in
            while let request = connection.readRequest() {
                let body = directory.read(String(request.target.prefix { $0 != "?" }.dropFirst()))
                connection.write("HTTP/1.1 \(body == nil ? "404 No" : "200 OK")\r\nContent-Length: \(body?.count ?? 0)\r\n\r\n")
                guard connection.write(body ?? []) else { return }
            }
        }
        let result = try await runProcess([
            try CarrelProgram.path(), "decrypt", "http://127.0.0.1:\(server.port)/master.m3u8?token=secret", "--key",
            "\(Self.id):\(Self.key)", "-o", directory.file("clear.mp4"), "--json",
        ])
        #expect(result.status.isSuccess, "\(result.errorText)")
        #expect(result.text.contains("french") && result.text.contains("\"verified\": false"), "\(result.text)")
        #expect(!(result.text + result.errorText).contains("secret"))
        try await checkFilm("clear.mp4")
    }

    @Test(arguments: ["film.mpd", "master.m3u8", "https://films.example/a.mpd?token=secret"])
    func `leaves nothing for a stream that cannot be decrypted`(source: String) async throws {
        try await stream("cbcs", Self.fragments)
        let before = try names()
        let path = source.contains("://") ? source : directory.file(source)
        let wrong = Self.key.replacing("0f", with: "ff")
        for key in [["--key", "\(Self.id):\(wrong)"], []] {
            let result = try await runProcess(
                [try CarrelProgram.path(), "decrypt", path, "-o", directory.file("clear.mp4")] + key,
                timeout: .seconds(60)
            )
            #expect(!result.status.isSuccess, "\(result.errorText)")
            #expect(!result.errorText.contains("secret"), "\(result.errorText)")
            #expect(try names() == before)
        }
    }

    @Test(arguments: ["film.mpd", "master.m3u8", "v.m3u8"]) func `package reads a clear stream`(source: String) async throws {
        try await stream(nil, Self.fragments)
        let result = try await runProcess([
            try CarrelProgram.path(), "package", directory.file(source), "-o", directory.file("out"), "--scheme", "cbcs", "--key",
            "\(Self.id):\(Self.key)",
        ])
        #expect(result.status.isSuccess, "\(result.errorText)")
        if source == "v.m3u8" {
            _ = try await decrypt("out/master.m3u8", "clear.mp4")
            #expect(try await frames("clear.mp4", "v") == frames("film.mp4", "v"))
        } else {
            _ = try await decrypt("out/manifest.mpd", "clear.mp4")
            try await checkFilm("clear.mp4")
        }
        #expect(try !names().contains { $0.contains(".carrel-") })
    }

    @Test func `package refuses a protected stream, and names the command that decrypts it`() async throws {
        try await stream("cbcs", Self.fragments)
        let result = try await runProcess([
            try CarrelProgram.path(), "package", directory.file("film.mpd"), "-o", directory.file("out"), "--scheme", "cbcs",
            "--key",
            "\(Self.id):\(Self.key)",
        ])
        #expect(result.status == .exited(77) && result.errorText.contains("carrel decrypt"), "\(result.errorText)")
        #expect(try !names().contains { $0.hasPrefix("out") || $0.contains(".carrel-") })
    }

    @Test func `refuses a live stream, which has no end`() async throws {
        try await stream("cbcs", Self.fragments)
        for name in ["v.m3u8", "a.m3u8"] {
            let text = String(decoding: try #require(directory.read(name)), as: UTF8.self)
            let open = text.replacing("#EXT-X-ENDLIST", with: "").replacing("#EXT-X-PLAYLIST-TYPE:VOD\n", with: "")
            directory.write(name, Array(open.utf8))
        }
        let result = try await runProcess([
            try CarrelProgram.path(), "decrypt", directory.file("master.m3u8"), "--key", "\(Self.id):\(Self.key)", "-o",
            directory.file("clear.mp4"),
        ])
        #expect(!result.status.isSuccess && result.errorText.contains("is live"), "\(result.errorText)")
    }
}
