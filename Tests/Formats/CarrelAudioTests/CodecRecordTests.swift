// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTesting
import Testing

/// Sound that ffmpeg encodes.
private func encoded(_ name: String, _ options: [String]) async throws -> [UInt8] {
    let directory = TemporaryDirectory()
    try await checkProcess(
        [
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=1.2", "-strict", "-2",
        ] + options + [directory.file(name)]
    )
    return try #require(directory.read(name))
}

/// The content of the first box of this type, wherever its name follows a plausible size.
private func box(_ type: String, in file: [UInt8]) throws -> [UInt8] {
    let name = Array(type.utf8)
    let at = try #require((4..<file.count - 4).first { file[$0] == name[0] && Array(file[$0..<$0 + 4]) == name })
    return Array(file[at + 4..<at - 4 + Int(file.rawSpan.u32(at: at - 4))])
}

private func frames(_ bytes: [UInt8]) throws -> [AC3SyncFrame] {
    var frames: [AC3SyncFrame] = []
    var at = 0
    while at < bytes.count {
        let header = AC3SyncFrame.parse(bytes.rawSpan, at: at)
        let frame = try #require(header, "at \(at)")
        frames.append(frame)
        at += frame.frameLength
    }
    #expect(at == bytes.count)
    return frames
}

struct `Codec records` {
    @Test(
        arguments: [
            (48000, 2, "192k"), (44100, 2, "192k"), (44100, 1, "64k"), (32000, 6, "448k"), (48000, 6, "640k"), (44100, 2, "96k"),
        ]
    )
    func `follow AC-3 from frame to frame and describe it as ffmpeg does`(rate: Int, channels: Int, bits: String) async throws {
        let options = ["-c:a", "ac3", "-ar", "\(rate)", "-ac", "\(channels)", "-b:a", bits]
        let frames = try frames(try await encoded("a.ac3", options))
        #expect(frames.count >= 20)
        for frame in frames {
            #expect(!frame.isEnhanced && frame.sampleRate == rate && frame.channels == channels && frame.samplesPerFrame == 1536)
        }
        let content = try box("dac3", in: try await encoded("a.mp4", options))
        let record = try AC3SpecificBox(content.rawSpan)
        #expect(record == AC3SpecificBox(frames[0]))
        #expect(record.bytes == content)
        #expect(throws: Malformed.self) { _ = try AC3SpecificBox(content.rawSpan.extracting(0..<2)) }
    }

    @Test(arguments: [(48000, 2, "192k"), (44100, 6, "384k"), (32000, 1, "64k")])
    func `follow E-AC-3 from frame to frame and describe it as ffmpeg does`(rate: Int, channels: Int, bits: String) async throws {
        let options = ["-c:a", "eac3", "-ar", "\(rate)", "-ac", "\(channels)", "-b:a", bits]
        let frames = try frames(try await encoded("a.eac3", options))
        for frame in frames {
            #expect(frame.isEnhanced && frame.sampleRate == rate && frame.channels == channels && frame.samplesPerFrame == 1536)
            #expect(frame.substream == .independent && frame.substreamNumber == 0)
        }
        let content = try box("dec3", in: try await encoded("a.mp4", options))
        let record = try EC3SpecificBox(content.rawSpan)
        #expect(record.bytes == content)
        let made = try #require(EC3SpecificBox([frames[0]]))
        #expect(made.substreams == record.substreams)
        #expect(abs(made.dataRate - record.dataRate) <= 2)
        for length in 0..<content.count {
            #expect(throws: Malformed.self) { _ = try EC3SpecificBox(content.rawSpan.extracting(0..<length)) }
        }
    }

    @Test func `keep dependent substreams and extensions of E-AC-3`() throws {
        let bytes: [UInt8] = [0x0c, 0x00, 0x20, 0x0f, 0x02, 0x08, 0x01, 0x10]
        let record = try EC3SpecificBox(bytes.rawSpan)
        #expect(record.dataRate == 384 && record.substreams.count == 1)
        #expect(record.substreams[0].dependents == 1 && record.substreams[0].dependentChannels == 8)
        #expect(record.extensions == [1, 16])
        #expect(record.bytes == bytes)
    }

    @Test(arguments: [(44100, 2, "s16", 16), (96000, 1, "s32", 24)])
    func `describe FLAC`(rate: Int, channels: Int, format: String, depth: Int) async throws {
        let file = try await encoded("a.mp4", ["-c:a", "flac", "-ar", "\(rate)", "-ac", "\(channels)", "-sample_fmt", format])
        let content = try box("dfLa", in: file)
        let record = try FLACSpecificBox(content.rawSpan)
        #expect(record.sampleRate == rate && record.channels == channels && record.bitDepth == depth)
        #expect(record.metadata.count == content.count - 4)
        for length in 0..<content.count {
            #expect(throws: Malformed.self) { _ = try FLACSpecificBox(content.rawSpan.extracting(0..<length)) }
        }
    }

    @Test(arguments: [(1, 0), (2, 0), (6, 1)])
    func `describe Opus`(channels: Int, family: UInt8) async throws {
        let file = try await encoded("a.mp4", ["-c:a", "libopus", "-ac", "\(channels)"])
        let content = try box("dOps", in: file)
        let record = try OpusSpecificBox(content.rawSpan)
        #expect(record.channels == channels && record.mappingFamily == family && record.outputGain == 0)
        #expect(record.preSkip == 312 && record.mapping.count == (family == 0 ? 0 : 8))
        for length in 0..<content.count {
            #expect(throws: Malformed.self) { _ = try OpusSpecificBox(content.rawSpan.extracting(0..<length)) }
        }
    }

    @Test(arguments: [("mp2", 48000, 2, "192k"), ("mp2", 44100, 1, "96k"), ("mp2", 22050, 2, "64k"), ("mp3", 44100, 2, "128k")])
    func `follow Layer II and III from frame to frame`(type: String, rate: Int, channels: Int, bits: String) async throws {
        let bytes = try await encoded(
            "a.\(type)",
            ["-ar", "\(rate)", "-ac", "\(channels)", "-b:a", bits, "-id3v2_version", "0", "-write_xing", "0"]
        )
        var at = 0
        var count = 0
        while at < bytes.count {
            let header = MPEGAudioFrame.parse(bytes.rawSpan, at: at)
            let frame = try #require(header, "at \(at)")
            #expect(frame.layer == (type == "mp2" ? 2 : 3) && frame.sampleRate == rate && frame.channels == channels)
            at += frame.frameLength
            count += 1
        }
        #expect(at == bytes.count && count > 20)
    }

    @Test func `survive any bytes`() {
        var random = SplitMix(seed: 5)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if bytes.count > 2 { (bytes[0], bytes[1]) = (0x0b, 0x77) }
            if let frame = AC3SyncFrame.parse(bytes.rawSpan, at: 0) {
                #expect(frame.frameLength >= 8 && frame.sampleRate > 0 && (1...6).contains(frame.channels))
                _ = EC3SpecificBox([frame, frame])?.bytes
            }
            _ = MPEGAudioFrame.parse(bytes.rawSpan, at: 0)
            if let record = try? EC3SpecificBox(bytes.rawSpan) {
                #expect((try? EC3SpecificBox(record.bytes.rawSpan)) != nil)
            }
            if !bytes.isEmpty { bytes[0] = 0 }
            _ = try? FLACSpecificBox(bytes.rawSpan)
            _ = try? OpusSpecificBox(bytes.rawSpan)
        }
    }
}
