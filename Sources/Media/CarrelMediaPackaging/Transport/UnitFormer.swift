// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelTS
import CarrelVideo

/// Turns samples of one MP4 track into access units of a transport stream: video with start codes, delimiters and parameter sets,
/// AAC with ADTS headers, other audio unchanged.
struct UnitFormer {
    private enum Coding {
        case picture(VideoCodec, AccessUnitPrefix, lengthSize: Int)
        case adts(ADTSTemplate)
        case framed
    }

    /// The stream, clear.
    let stream: ElementaryStream
    /// The description of encrypted audio; nil for video and other audio.
    let setup: AudioSetupInformation?
    private let coding: Coding
    private var body: [UInt8] = []

    /// - Parameters:
    ///   - track: the track.
    ///   - pid: the packet identifier of its stream.
    /// - Throws: `unsupported` if a transport stream has no form for it; `Malformed`.
    init(_ track: PackagedTrack, pid: UInt16) throws {
        let entry = track.entry
        let configuration = entry.configuration
        switch entry.format {
        case "avc1", "avc3":
            let record = try AVCDecoderConfigurationRecord(configuration.rawSpan)
            stream = .video(.h264, pid: pid)
            coding = .picture(.h264, AccessUnitPrefix(.h264, parameterSets: record.byteStream), lengthSize: record.lengthSize)
            setup = nil
            return
        case "hvc1", "hev1":
            let record = try HEVCDecoderConfigurationRecord(configuration.rawSpan)
            stream = .video(.h265, pid: pid)
            coding = .picture(.h265, AccessUnitPrefix(.h265, parameterSets: record.byteStream), lengthSize: record.lengthSize)
            setup = nil
            return
        default: break
        }
        switch entry.codec {
        case .aac(let config):
            guard let template = config.adts else {
                throw MediaError(.unsupported, "track \(track.track.id): this AAC has no form in transport streams")
            }
            stream = .aac(pid: pid)
            coding = .adts(template)
            let type: AudioSetupInformation.AudioType =
                config.parametricStereo == .explicit ? .heAACv2 : config.bandReplication == .explicit ? .heAAC : .aac
            setup = Self.specificConfig(configuration).map { AudioSetupInformation(type: type, setup: $0) }
        case .mp3:
            stream = .mpegAudio(pid: pid, isHalfRate: entry.sampleRate > 0 && entry.sampleRate < 32_000)
            coding = .framed
            setup = nil
        case .other("ac-3"):
            stream = .ac3(pid: pid)
            coding = .framed
            setup = nil
        case .other("ec-3"):
            stream = .enhancedAC3(pid: pid)
            coding = .framed
            setup = AudioSetupInformation(type: .enhancedAC3, setup: configuration)
        default: throw MediaError(.unsupported, "track \(track.track.id): \(entry.format) has no form in transport streams")
        }
    }

    /// The decoder-specific info of an `esds` box, the last descriptor with tag 5 (ISO/IEC 14496-1 §7.2.6.7).
    private static func specificConfig(_ descriptor: [UInt8]) -> [UInt8]? {
        var at = 4
        while at < descriptor.count {
            let tag = descriptor[at]
            at += 1
            var size = 0
            while at < descriptor.count {
                let byte = descriptor[at]
                at += 1
                size = (size & 0xff_ffff) << 7 | Int(byte & 0x7f)
                if byte & 0x80 == 0 { break }
            }
            switch tag {
            case 3: at += 3
            case 4: at += 13
            case 5: return size <= descriptor.count - at ? Array(descriptor[at..<at + size]) : nil
            default: at += size
            }
        }
        return nil
    }

    /// Appends the unit of a sample.
    ///
    /// - Parameters:
    ///   - sample: its bytes, clear.
    ///   - unit: gets the unit.
    /// - Throws: `Malformed` with the byte of the sample.
    mutating func append(_ sample: RawSpan, to unit: inout [UInt8]) throws(Malformed) {
        switch coding {
        case .picture(let codec, let prefix, let lengthSize):
            body.removeAll(keepingCapacity: true)
            let kinds = try LengthPrefixedUnits.append(sample, lengthSize: lengthSize, codec: codec, asByteStreamTo: &body)
            let (head, skip) = prefix.prefix(of: kinds, body: body.rawSpan)
            unit += head
            unit += body[skip...]
        case .adts(let template):
            guard template.append(payloadLength: sample.byteCount, to: &unit) else {
                throw Malformed("sample of \(sample.byteCount) bytes cannot be an ADTS frame", at: 0)
            }
            unit.append(copying: sample)
        case .framed: unit.append(copying: sample)
        }
    }
}
