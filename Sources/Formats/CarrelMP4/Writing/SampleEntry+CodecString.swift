// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelVideo

extension SampleEntry {
    /// How the `codecs` parameter names the coding (RFC 6381 §3.3, §3.4; ISO/IEC 14496-15 annex E), whatever the protection.
    ///
    /// - Returns: such as `avc1.64001f`; nil if the configuration is missing or damaged.
    package var codecString: String? {
        do throws(Malformed) {
            switch format {
            case "avc1", "avc3": return try AVCDecoderConfigurationRecord(configuration.rawSpan).codecString(format: "\(format)")
            case "hvc1", "hev1": return try HEVCDecoderConfigurationRecord(configuration.rawSpan).codecString(format: "\(format)")
            case "mp4a": return soundString
            case ".mp3", "ms\0U": return "mp4a.6B"
            case "ac-3", "ec-3", "fLaC", "wvtt", "stpp", "alac": return "\(format)"
            case "Opus": return "opus"
            default: return nil
            }
        } catch {
            return nil
        }
    }

    /// The object type, and of MPEG-4 audio its own (RFC 6381 §3.3). Implicit band replication is what a decoder finds out.
    private var soundString: String? {
        switch codec {
        case .aac(let config):
            if config.parametricStereo == .explicit { return "mp4a.40.29" }
            if config.bandReplication == .explicit { return "mp4a.40.5" }
            return "mp4a.40.\(config.objectType)"
        case .mp3: return "mp4a." + (objectType == 0x69 ? "69" : "6B")
        case .other("ac-3"): return "mp4a.A5"
        case .other("ec-3"): return "mp4a.A6"
        default: return nil
        }
    }

    /// `objectTypeIndication` of an `esds` box (ISO/IEC 14496-1 §7.2.6.6); nil if optional fields precede it.
    private var objectType: UInt8? {
        do throws(Malformed) {
            var cursor = ByteCursor(configuration.rawSpan)
            try cursor.skip(4)
            for tag: UInt8 in [3, 4] {
                guard try cursor.u8() == tag else { return nil }
                while try cursor.u8() & 0x80 != 0 {}
                if tag == 3 {
                    try cursor.skip(2)
                    guard try cursor.u8() & 0xe0 == 0 else { return nil }
                }
            }
            return try cursor.u8()
        } catch {
            return nil
        }
    }
}
