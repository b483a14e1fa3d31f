// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelIngest
import CarrelPackager
import CarrelTesting
import Glibc
import Testing

/// HE-AAC: the core's frames pass unchanged, and a decoder finds the replicated bands in them.
struct `Band replication` {
    /// Two seconds of HE-AAC in an MP4 file that says so, or leaves it to the decoder to find out.
    private func make(_ intake: Intake, signalled: Bool) async throws -> String {
        let options = ["-ac", "2", "-c:a", "aac", "-b:a", "48k", "-bitexact", "-f", "adts"]
        try await intake.tone("core.aac", 2, hertz: 1000, rate: 22_050, options)
        let frames = BandReplication.added(toFrames: intake.directory.read("core.aac") ?? [])
        let file = try await mp4(intake, frames)
        return signalled
            ? intake.directory.write("book.m4a", BandReplication.signalled(inMP4: intake.directory.read(file) ?? [], channels: 2))
            : intake.directory.file(file)
    }

    private func mp4(_ intake: Intake, _ frames: [UInt8]) async throws -> String {
        let source = intake.directory.write("he.aac", frames)
        let path = intake.directory.file("plain.m4a")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-y", "-f", "aac", "-i", source, "-c", "copy", "-bitexact", path,
        ])
        return "plain.m4a"
    }

    /// The codec that a decoder reports, and its samples of one channel.
    private func hear(_ intake: Intake, _ path: String) async throws -> (sound: String, samples: [Int16]) {
        let entries = ["-select_streams", "a", "-show_entries", "stream=profile,sample_rate,channels", "-of", "csv=p=0"]
        let sound = try await checkProcess([try requirePeer("ffprobe"), "-v", "error"] + entries + [path])
        return (sound.split(separator: "\n").joined(), try await intake.decode(path))
    }

    /// How loud the sound is at a frequency, as a part of full scale.
    private func level(_ samples: [Int16], at hertz: Double) -> Double {
        guard samples.count >= 44_096 else { return 0 }
        let window = samples[40_000..<44_096]
        var (real, imaginary) = (0.0, 0.0)
        for (place, sample) in window.enumerated() {
            let angle = 2 * Double.pi * hertz * Double(place) / 44_100
            let fade = 0.5 - 0.5 * cos(2 * Double.pi * Double(place) / Double(window.count))
            real += Double(sample) * fade * cos(angle)
            imaginary += Double(sample) * fade * sin(angle)
        }
        return 4 * (real * real + imaginary * imaginary).squareRoot() / Double(window.count) / 32768
    }

    @Test(arguments: [true, false])
    func `goes through as the core's frames, and is heard at twice the rate`(signalled: Bool) async throws {
        let intake = try Intake()
        let title = try intake.take(try await make(intake, signalled: signalled))
        let codec = AudioCodec.aac(signalled ? .he : .lc)
        #expect(title.index.format == AudioFormat(codec: codec, sampleRate: 22_050, channels: 2))
        #expect(title.index.format.codecString == (signalled ? "mp4a.40.5" : "mp4a.40.2"))
        #expect(
            try intake.bytes(of: title.media) == intake.directory.read("he.aac"),
            "ADTS frames of the core, which do not say it"
        )
        #expect(abs(title.durationMS - 2000) < 100)

        let (sound, samples) = try await hear(intake, try intake.media(of: title))
        #expect(sound == "HE-AAC,44100,2")
        #expect(samples.count == Int(title.index.totalSamples) * 2)
        let plain = try await intake.decode(intake.directory.file("core.aac"), ["-f", "aac"])
        #expect(plain.count == Int(title.index.totalSamples), "the core alone has half as many")
        let replicated = (0..<200).map { level(samples, at: 11_500 + 12.5 * Double($0)) }.max() ?? 0
        #expect(replicated > 0.001, "sound above what the core can carry: \(replicated)")
    }

    /// A stream that a real encoder made, of five frames.
    @Test func `of another's stream is heard as in the original`() async throws {
        let intake = try Intake()
        let original = try Fixtures.path("media/ext/media3/ts/sample_latm.ts")
        let stream = try await runProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-i", original, "-map", "0:a:0", "-c", "copy", "-f", "data", "-",
        ])
        let units = LATMStream.units(stream.output)
        #expect(units.count == 5)
        let frames = units.flatMap { ADTSFrame.header(channels: 1, payload: $0.count) + $0 }
        let file = try await mp4(intake, frames)
        let signalled = BandReplication.signalled(inMP4: intake.directory.read(file) ?? [], channels: 1)
        let title = try intake.take(intake.directory.write("book.m4a", signalled)) { $0.sampleSeconds = 0 }
        #expect(title.index.format == AudioFormat(codec: .aac(.he), sampleRate: 22_050, channels: 1))
        #expect(try intake.bytes(of: title.media) == frames)
        let (sound, samples) = try await hear(intake, try intake.media(of: title))
        #expect(sound.contains("44100"), "\(sound)")
        let expected = try await hear(intake, original)
        #expect(samples.count == 5 * 2048 && samples == expected.samples)
    }
}
