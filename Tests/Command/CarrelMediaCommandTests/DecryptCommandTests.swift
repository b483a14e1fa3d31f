// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import Testing

/// Playlists that the command `decrypt` reads, and the names of its outputs.
struct `The command decrypt` {
    static let id = "00112233445566778899aabbccddeeff"
    static let key = "000102030405060708090a0b0c0d0e0f"
    let directory = TemporaryDirectory()

    func decrypt(_ source: String, _ output: String, _ name: String = id) async throws -> [UInt8] {
        let path = directory.file(output)
        let result = try await runProcess([
            try CarrelProgram.path(), "decrypt", directory.file(source), "--key", "\(name):\(Self.key)", "-o", path,
        ])
        #expect(result.status.isSuccess, "\(result.errorText)")
        return try #require(directory.read(output))
    }

    /// A film of two seconds with audio of two languages.
    func film(_ words: [String] = []) async throws -> String {
        let path = directory.file("film.mp4")
        try await checkProcess(
            [
                try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=2", "-f", "lavfi", "-i",
                "sine=f=440:d=2", "-f", "lavfi", "-i", "sine=f=880:d=2", "-map", "0:v", "-map", "1:a", "-map", "2:a", "-c:v",
                "libx264", "-c:a", "aac", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra",
            ] + words + [path]
        )
        return path
    }

    /// Packs the film with Shaka Packager under the key.
    func pack(_ scheme: String, _ streams: [String]) async throws {
        let path = try await film()
        try await checkProcess(
            [try StreamingPeer.packager.path()] + streams.map { "in=\(path),\($0.replacing("{}", with: directory.path))" } + [
                "--enable_raw_key_encryption", "--keys", "label=:key_id=\(Self.id):key=\(Self.key)", "--protection_scheme",
                scheme,
                "--clear_lead", "0", "--hls_master_playlist_output", directory.file("master.m3u8"),
            ]
        )
    }

    /// The digests of the frames that ffmpeg decodes of a file.
    func frames(_ name: String, _ kind: String) async throws -> [Substring] {
        let text = try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", directory.file(name), "-map", "0:\(kind):0", "-f", "framemd5", "-",
        ])
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").last }
    }

    @Test func `takes HLS of cenc whose playlist has no key line`() async throws {
        try await pack("cenc", ["stream=video,init_segment={}/i.mp4,segment_template={}/$Number$.m4s,playlist_name=v.m3u8"])
        let playlist = String(decoding: try #require(directory.read("v.m3u8")), as: UTF8.self)
        try #require(!playlist.contains("METHOD="))
        _ = try await decrypt("v.m3u8", "clear.mp4")
        let (clear, source) = (try await frames("clear.mp4", "v"), try await frames("film.mp4", "v"))
        #expect(clear == source && clear.count == 50)
    }

    @Test func `writes MP4 of transport streams where the name of the output says so`() async throws {
        try await pack("cbcs", ["stream=video,segment_template={}/$Number$.ts,playlist_name=v.m3u8"])
        let bytes = try await decrypt("v.m3u8", "clear.mp4", "*")
        #expect(bytes[4..<8].elementsEqual("ftyp".utf8))
        let (clear, source) = (try await frames("clear.mp4", "v"), try await frames("film.mp4", "v"))
        #expect(clear == source && clear.count == 50)
    }

    @Test func `writes packed audio of SAMPLE-AES unchanged, as a transport stream, and as MP4`() async throws {
        try await pack("cbcs", ["stream=audio,segment_template={}/$Number$.aac,playlist_name=a.m3u8"])
        let source = try await frames("film.mp4", "a")
        for (name, start) in [("clear.aac", [UInt8]("ID3".utf8)), ("clear.ts", [0x47]), ("clear.mp4", [0, 0, 0])] {
            let bytes = try await decrypt("a.m3u8", name, "*")
            #expect(bytes.starts(with: start), "\(name)")
            // the edit list of the source hides the frame that primes the decoder
            let clear = try await frames(name, "a")
            #expect(clear.dropFirst() == source[...] && source.count > 80, "\(name): \(clear.count) of \(source.count)")
        }
    }

    @Test func `keeps the languages of an encrypted film in a transport stream`() async throws {
        let words = ["-encryption_scheme", "cenc-aes-ctr", "-encryption_key", Self.key, "-encryption_kid", Self.id]
        _ = try await film(words)
        _ = try await decrypt("film.mp4", "clear.ts")
        let languages = try await checkProcess([
            try requirePeer("ffprobe"), "-v", "error", "-select_streams", "a", "-show_entries", "stream_tags=language", "-of",
            "csv=p=0", directory.file("clear.ts"),
        ])
        #expect(Set(languages.split(separator: "\n")) == ["eng", "fra"])
    }
}
