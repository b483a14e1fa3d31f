// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
package import CarrelBytes

extension SampleEntry {
    /// The entry as an ISO file has it, without its protection.
    ///
    /// QuickTime's longer audio entries lose the fields that only QuickTime reads.
    ///
    /// - Returns: the whole entry with its header.
    /// - Throws: `Malformed` if it lacks information that a decoder needs.
    package func clearBytes() throws(Malformed) -> [UInt8] {
        let span = bytes.rawSpan
        if codec == .mp3, type == ".mp3" || type == "ms\0U" { return soundEntry("mp4a", Self.mp3Descriptor) }
        guard codec != nil || protection != nil else { return bytes }
        if codec != nil {
            guard bytes.count >= 36 else { throw Malformed("sample entry is cut off", at: 0) }
            if span.u16(at: 16) != 0 || bytes.rawSpan.byteCount > 36 && isQuickTime {
                guard let box = Self.configurationType(format) else {
                    throw Malformed("\(format) of QuickTime cannot be described in an ISO file", at: 0)
                }
                guard !configuration.isEmpty else { throw Malformed("\(format) has no decoder configuration", at: 0) }
                var writer = BoxWriter()
                writer.box(box) { $0.append(configuration) }
                return soundEntry(format, writer.bytes)
            }
        }
        guard protection != nil else { return bytes }
        var writer = BoxWriter()
        let head = codec != nil ? 36 : width > 0 || type == "encv" ? 86 : 16
        guard bytes.count >= head else { throw Malformed("sample entry is cut off", at: 0) }
        writer.box(format) { writer in
            writer.append(copying: bytes.rawSpan.extracting(8..<head))
            MemoryBoxes.forEach(in: bytes.rawSpan.extracting(head..<bytes.count)) { type, content in
                if type != "sinf" { writer.box(type) { $0.append(copying: content) } }
            }
        }
        return writer.bytes
    }

    /// Whether the entry's first child is a box of QuickTime alone.
    private var isQuickTime: Bool { bytes.count >= 44 && FourCC(bytes.rawSpan.u32(at: 40)) == "wave" }

    /// The box that configures the decoder of an audio format.
    private static func configurationType(_ format: FourCC) -> FourCC? {
        switch format {
        case "mp4a": "esds"
        case "ac-3": "dac3"
        case "ec-3": "dec3"
        case "fLaC": "dfLa"
        case "Opus": "dOps"
        default: nil
        }
    }

    private func soundEntry(_ type: FourCC, _ configuration: [UInt8]) -> [UInt8] {
        var writer = BoxWriter()
        writer.box(type) { writer in
            writer.zeros(6)
            writer.u16(1)
            writer.zeros(8)
            writer.u16(UInt16(clamping: channels))
            writer.u16(16)
            writer.u32(0)
            writer.u32(UInt32(clamping: min(sampleRate, 0xffff)) << 16)
            writer.append(configuration)
        }
        return writer.bytes
    }

    /// An `esds` box for MP3 (ISO/IEC 14496-1 §7.2.6.6, object type 0x6b).
    private static var mp3Descriptor: [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("esds") { writer in
            writer.append([3, 21, 0, 0, 0, 4, 13, 0x6b, 0x15])
            writer.zeros(11)
            writer.append([6, 1, 2])
        }
        return writer.bytes
    }

    /// Converts a clear entry to an entry for protected samples (ISO/IEC 14496-12 §8.12, 23001-7 §4).
    ///
    /// - Parameters:
    ///   - clear: a whole entry with its header, at least 16 bytes long.
    ///   - handler: the handler of its track: `soun`, `vide`, ….
    ///   - scheme: the four characters of the scheme.
    ///   - encryption: the parameters of the track's samples.
    /// - Returns: the whole entry with its header.
    package static func protected(
        _ clear: [UInt8],
        handler: FourCC,
        scheme: FourCC,
        _ encryption: TrackEncryption
    ) -> [UInt8] {
        precondition(clear.count >= 16, "a sample entry has 16 bytes at least")
        let original = FourCC(clear.rawSpan.u32(at: 4))
        let type: FourCC = handler == "soun" ? "enca" : handler == "vide" ? "encv" : "enct"
        var writer = BoxWriter()
        writer.box(type) { writer in
            writer.append(copying: clear.rawSpan.extracting(8..<clear.count))
            writer.box("sinf") { writer in
                writer.box("frma") { $0.fourCC(original) }
                writer.fullBox("schm") { writer in
                    writer.fourCC(scheme)
                    writer.u32(0x1_0000)
                }
                writer.box("schi") { encryption.write(to: &$0, scheme: scheme) }
            }
        }
        return writer.bytes
    }
}
