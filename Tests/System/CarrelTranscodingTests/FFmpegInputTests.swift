// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelTranscoding
import Testing

struct `ffmpeg on a file of ours` {
    private static func film(_ directory: TemporaryDirectory, _ name: String) async throws -> String {
        let path = directory.file(name)
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=6", "-f", "lavfi", "-i",
            "sine=d=6", "-c:v", "libx264", "-g", "60", "-c:a", "aac", path,
        ])
        return path
    }

    private static func syncs(_ path: String) async throws -> [Double] {
        let text = try await checkProcess([
            try requirePeer("ffprobe"), "-v", "error", "-select_streams", "v", "-skip_frame", "nokey", "-show_entries",
            "frame=pts_time", "-of", "csv=p=0", path,
        ])
        return text.split(separator: "\n").compactMap { Double($0.split(separator: ",").first ?? "") }
    }

    @Test func `copies a Matroska file as fragmented MP4`() async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(directory, "a.mkv")
        var bytes: [UInt8] = []
        try FFmpegInput(path).copy { bytes.append(copying: $0) }
        let copy = directory.write("copy.mp4", bytes)
        for stream in ["v", "a"] {
            var sums: [String] = []
            for file in [path, copy] {
                sums.append(
                    try await checkProcess([
                        try requirePeer("ffmpeg"), "-v", "error", "-i", file, "-map", "0:\(stream)", "-f", "hash", "-",
                    ])
                )
            }
            #expect(sums[0] == sums[1])
        }
    }

    @Test func `puts sync samples where they are asked for`() async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(directory, "a.mp4")
        var bytes: [UInt8] = []
        try FFmpegInput(path).align(every: 1600) { bytes.append(copying: $0) }
        let found = try await Self.syncs(directory.write("aligned.mp4", bytes))
        for time in [0, 1.6, 3.2, 4.8] { #expect(found.contains { abs($0 - time) < 0.05 }, "\(time): \(found)") }
    }

    @Test func `draws thumbnails in grids`() async throws {
        let directory = TemporaryDirectory()
        let path = try await Self.film(directory, "a.mp4")
        var grids: [[UInt8]] = []
        try FFmpegInput(path).thumbnails(every: 1000, width: 80, columns: 2, rows: 2) { grids.append($0) }
        #expect(grids.count == 2)
        #expect(grids.allSatisfy { $0.starts(with: [0xff, 0xd8]) && $0.suffix(2) == [0xff, 0xd9] })
    }

    @Test func `is refused with its own words`() throws {
        let directory = TemporaryDirectory()
        let input = try FFmpegInput(directory.write("a.mkv", "no film"))
        let error = #expect(throws: TranscodingError.self) { try input.copy { _ in } }
        #expect(error?.code == .refused)
        #expect(error?.message.contains(directory.path) == false)
        #expect(throws: TranscodingError.self) { _ = try FFmpegInput(directory.file("none")) }
    }

    @Test func `opens no other file that a playlist names`() throws {
        let directory = TemporaryDirectory()
        directory.write("secret.ts", "secret")
        let input = try FFmpegInput(directory.write("a.mkv", "#EXTM3U\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n"))
        #expect(throws: TranscodingError.self) { try input.copy { _ in } }
    }
}
