// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

/// The peak of the command itself, which is what a machine must have for it, against the peak of `carrel --version`.
@Suite(.serialized, .enabled(if: !PeakCost.isSanitized)) struct `Memory of the command` {
    private static let isLong = unsafe getenv("CARREL_LONG") != nil
    /// The sizes of films in megabytes.
    private static let sizes = [1, 100] + (isLong ? [2048] : [])
    private static let bound = 16.0
    private static let key = ["--key", "8da1f89c17bba5d7fcce0d33544cb5a4:88576e73d56defe8309278c693790601"]

    /// The peak of a command that succeeds, in mebibytes.
    private static func peak(_ arguments: [String]) async throws -> Double {
        let measured = try await MeasuredCommand.run(arguments)
        try #require(measured.result.status.isSuccess, "\(measured.result.errorText)")
        return measured.mebibytes
    }

    /// The peaks of a proxy, in mebibytes, before its player begins, and when that has played the source to its end.
    private static func peaks(
        ofProxy arguments: [String],
        _ folder: TemporaryDirectory
    ) async throws -> (idle: Double, end: Double) {
        let ffmpeg = try requirePeer("ffmpeg")
        unsafe unlink(folder.file("peaks"))
        // the player asks for the peak of its parent
        let player = folder.write(
            "player",
            """
            #!/bin/sh
            peak() { sed -n 's/^VmHWM: *\t* *\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status >> '\(folder.file("peaks"))'; }
            peak
            \(ffmpeg) -v error -nostdin -i "$1" -map 0 -c copy -f null - && peak

            """
        )
        try await checkProcess(["chmod", "+x", player])
        let result = try await runProcess(
            [try CarrelProgram.path(), "proxy", "--play", "--player", player] + arguments + key,
            timeout: .seconds(900)
        )
        #expect(result.status.isSuccess && result.errorText == "", "\(result.errorText)")
        let peaks = String(decoding: folder.read("peaks") ?? [], as: UTF8.self).split(separator: "\n").compactMap { Double($0) }
        try #require(peaks.count == 2)
        return (peaks[0] / 1024, peaks[1] / 1024)
    }

    /// A film of one megabyte a second.
    private static func film(_ megabytes: Int, in folder: TemporaryDirectory) async throws -> String {
        let ffmpeg = [try requirePeer("ffmpeg"), "-v", "error", "-nostdin"]
        let (second, film) = (folder.file("second.mp4"), folder.file("film.mp4"))
        let coding = "-c:v libx264 -preset ultrafast -b:v 8M -minrate 8M -maxrate 8M -bufsize 1M -g 25 -pix_fmt yuv420p -c:a aac"
        try await checkProcess(
            ffmpeg + [
                "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25,noise=alls=40:allf=t", "-f", "lavfi", "-i", "sine", "-t", "1",
            ]
                + coding.split(separator: " ").map(String.init) + [second]
        )
        let length = try #require(folder.read("second.mp4")).count
        let loops = "\(megabytes * 1_000_000 / length)"
        try await checkProcess(ffmpeg + ["-stream_loop", loops, "-i", second, "-c", "copy", film], timeout: .seconds(300))
        return film
    }

    @Test(.timeLimit(.minutes(40)), arguments: sizes)
    func `is at most 16 MiB for a film of any size, packaged, decrypted and served`(megabytes: Int) async throws {
        let folder = TemporaryDirectory()
        let film = try await Self.film(megabytes, in: folder)
        let least = try await Self.peak(["--version"])
        var peaks: [String: Double] = [:]
        let segments = folder.file("segments")
        peaks["package"] = try await Self.peak(["package", film, "-q", "-o", segments, "--scheme", "cenc"] + Self.key)
        let single = folder.file("single")
        peaks["package --single-file"] = try await Self.peak(
            ["package", film, "-q", "-o", single, "--scheme", "cbcs", "--single-file"] + Self.key
        )
        unsafe unlink(film)
        let clear = folder.file("clear.mp4")
        peaks["decrypt"] = try await Self.peak(["decrypt", "\(segments)/video-1.m3u8", "-q", "-o", clear] + Self.key)
        unsafe unlink(clear)
        peaks["decrypt of a file"] = try await Self.peak(["decrypt", "\(single)/video-1.mp4", "-q", "-o", clear] + Self.key)
        unsafe unlink(clear)
        for (name, peak) in peaks { #expect(peak < least + Self.bound, "\(name): \(peak) MiB, of which \(least) without work") }
        let sources = [
            "HLS": ["\(segments)/master.m3u8"], "HLS to fMP4": ["\(single)/master.m3u8", "--output", "fmp4"],
            "DASH": ["\(segments)/manifest.mpd"], "MP4": ["\(single)/video-1.mp4"],
        ]
        for (name, arguments) in sources {
            let (idle, end) = try await Self.peaks(ofProxy: arguments, folder)
            peaks["proxy of \(name)"] = end
            // a proxy needs more of the program's code, which a debug build has much of
            #if DEBUG
                #expect(end < idle + Self.bound, "\(name): \(end) MiB, of which \(idle) without a player")
            #else
                #expect(
                    end < least + Self.bound,
                    "\(name): \(end) MiB, of which \(least) without work (\(idle) without a player)"
                )
            #endif
        }
        let figures = peaks.sorted { $0.key < $1.key }.map { "\($0.key) \(($0.value * 10).rounded() / 10)" }
        print("peaks in MiB of \(megabytes) MB, --version \((least * 10).rounded() / 10):", figures.joined(separator: ", "))
    }
}
