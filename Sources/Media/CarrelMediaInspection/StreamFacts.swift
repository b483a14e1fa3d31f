// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelJSON
import CarrelTS
import CarrelVideo

/// One stream of a transport stream: its coding, found in its first unit that names it, and its times.
struct StreamFacts {
    var stream: ElementaryStream
    private(set) var units = 0
    /// From the first presentation time to the last, in 90 kHz ticks.
    private(set) var times: ClosedRange<Int64>?
    private var codecs: String?
    private var size: PictureSize?
    private var sampleRate: Int?
    private var channels: Int?

    init(stream: ElementaryStream) {
        self.stream = stream
    }

    mutating func add(_ unit: AccessUnit) {
        units += 1
        let time = unit.presentationTime
        times = times.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
        guard codecs == nil else { return }
        let bytes = unit.data.rawSpan
        switch stream.coding {
        case .video(let codec): readParameters(bytes, codec)
        case .aac:
            guard let header = ADTSHeader.parse(bytes, at: 0) else { return }
            codecs = header.format?.codecString ?? "mp4a.40.\(header.profile.objectType)"
            (sampleRate, channels) = (header.sampleRate, header.channels)
        case .mpegAudio:
            guard let frame = MPEGAudioFrame.parse(bytes, at: 0) else { return }
            codecs = frame.layer == 3 ? "mp4a.40.34" : "mp4a.40.33"
            (sampleRate, channels) = (frame.sampleRate, frame.channels)
        case .ac3, .enhancedAC3:
            guard let frame = AC3SyncFrame.parse(bytes, at: 0) else { return }
            codecs = frame.isEnhanced ? "ec-3" : "ac-3"
            (sampleRate, channels) = (frame.sampleRate, frame.channels)
        case .latm, .timedID3, .privateSections, .other: break
        }
    }

    private mutating func readParameters(_ bytes: RawSpan, _ codec: VideoCodec) {
        var units = ByteStreamUnits(bytes)
        while let range = units.next() {
            guard NALUnitType(codec, header: bytes.u8(at: range.lowerBound)).isSequenceParameterSet else { continue }
            let unit = bytes.extracting(range)
            switch codec {
            case .h264:
                guard let set = try? AVCSequenceParameterSet(unit) else { continue }
                codecs = "avc1." + Hex.encode([set.profile, set.constraints, set.level])
                size = set.size
            case .h265:
                guard let set = try? HEVCSequenceParameterSet(unit) else { continue }
                codecs = "hvc1." + set.profile.codecSuffix
                size = set.size
            }
            return
        }
    }

    var json: JSON {
        var object: JSONObject = [
            "pid": .integer(stream.pid), "streamType": .string("0x" + Hex.encode([stream.type])), "coding": .string(coding),
        ]
        if let codecs { object["codecs"] = .string(codecs) }
        if let size {
            object["width"] = .integer(size.width)
            object["height"] = .integer(size.height)
        }
        if let sampleRate { object["sampleRate"] = .integer(sampleRate) }
        if let channels { object["channels"] = .integer(channels) }
        if let language { object["language"] = .string(language) }
        if stream.isSampleEncrypted {
            object["encrypted"] = "SAMPLE-AES"
            if let setup = stream.audioSetup { object["audioSetup"] = .string(setup.type.rawValue) }
        }
        if stream.coding != .privateSections { object["units"] = .integer(units) }
        if let times {
            object["firstTime"] = .seconds(times.lowerBound, of: MediaTime.ticksPerSecond)
            object["lastTime"] = .seconds(times.upperBound, of: MediaTime.ticksPerSecond)
        }
        return .object(object)
    }

    /// `ISO_639_language_descriptor` (ISO/IEC 13818-1 §2.6.18).
    private var language: String? {
        guard let content = stream.descriptors.first(where: { $0.tag == 0x0a })?.content, content.count >= 3 else { return nil }
        let letters = content.prefix(3)
        return letters.allSatisfy { (0x41...0x7a).contains($0) } ? String(decoding: letters, as: UTF8.self) : nil
    }

    private var coding: String {
        switch stream.coding {
        case .video(.h264): "H.264"
        case .video(.h265): "H.265"
        case .mpegAudio: "MPEG audio"
        case .aac: "AAC (ADTS)"
        case .latm: "AAC (LATM)"
        case .ac3: "AC-3"
        case .enhancedAC3: "E-AC-3"
        case .timedID3: "timed ID3"
        case .privateSections: stream.hasKeyMessages ? "key messages" : "private sections"
        case .other: "other"
        }
    }
}
