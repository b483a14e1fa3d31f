// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
package import CarrelBytes

/// One description of a track's samples (`stsd`, ISO/IEC 14496-12 §8.5.2): their coding, and their protection.
package struct SampleEntry: Sendable {
    /// The entry's type; `encv` or `enca` if the samples are protected.
    package let type: FourCC
    /// The type without the protection: `avc1`, `mp4a`, …
    package internal(set) var format: FourCC
    /// How the samples are protected; nil if they are not.
    package internal(set) var protection: MP4Protection?
    /// The parameters of Common Encryption or PIFF; nil with other protections.
    package internal(set) var encryption: TrackEncryption?
    /// The fault of damaged Common Encryption parameters; its offset is relative to them.
    package internal(set) var encryptionFault: Malformed?
    /// Width in pixels; 0 unless it is video.
    package internal(set) var width = 0
    /// Height in pixels; 0 unless it is video.
    package internal(set) var height = 0
    /// Samples per channel and second; the codec's own configuration takes precedence.
    package internal(set) var sampleRate = 0
    /// Number of channels; the codec's own configuration takes precedence.
    package internal(set) var channels = 0
    /// The content of the decoder configuration box: `avcC`, `hvcC`, `esds`, `dac3`, `dec3`, `dfLa`, `dOps`, `vttC`; empty if
    /// missing.
    package internal(set) var configuration: [UInt8] = []
    /// The audio coding; nil unless it is audio.
    package internal(set) var codec: MP4Codec?
    /// The whole entry with its header, verbatim.
    package let bytes: [UInt8]

    private enum Kind { case sound, picture, other }

    /// Formats of pictures; everything else in a track of pictures is read as one too.
    private static let pictures: Set<FourCC> = [
        "avc1", "avc3", "hvc1", "hev1", "encv", "drmi", "vp09", "av01", "mp4v", "dvh1", "dvhe",
    ]
    private static let configurations: Set<FourCC> = [
        "avcC", "hvcC", "esds", "dac3", "dec3", "dfLa", "dOps", "vttC", "av1C", "vpcC", "dac4",
    ]
    /// No table has more descriptions than this.
    private static let limit = 1024

    /// Reads the content of an `stsd` box.
    ///
    /// - Parameters:
    ///   - table: the content after the box's header.
    ///   - handler: the track's: `soun`, `vide`, …; empty if unknown yet.
    /// - Returns: the descriptions in order.
    /// - Throws: `Malformed` if one is truncated.
    static func read(_ table: RawSpan, handler: String) throws(Malformed) -> [SampleEntry] {
        var cursor = ByteCursor(table)
        let version = try cursor.u8("sample description")
        try cursor.skip(3, "sample description")
        let count = Int(try cursor.u32("sample description"))
        var entries: [SampleEntry] = []
        for _ in 0..<min(count, limit) {
            let start = cursor.position
            // QuickTime's tables may declare more entries than they contain
            if cursor.remaining < 8, !entries.isEmpty { break }
            let size = Int(try cursor.u32("sample entry"))
            guard size >= 8 else { throw Malformed("sample entry is smaller than its header", at: start) }
            let type = FourCC(try cursor.u32("sample entry"))
            let content = try cursor.slice(size - 8, "sample entry")
            entries.append(try SampleEntry(type, content, version, handler, bytes: table.extracting(start..<start + size)))
        }
        return entries
    }

    private init(_ type: FourCC, _ content: RawSpan, _ version: UInt8, _ handler: String, bytes: RawSpan) throws(Malformed) {
        self.type = type
        format = type
        self.bytes = [UInt8](copying: bytes)
        let kind: Kind =
            switch handler {
            case "soun": .sound
            case "vide": .picture
            case "": Self.pictures.contains(type) ? .picture : .sound
            default: .other
            }
        if kind == .sound { codec = .other("\(type)") }
        var entry = ByteCursor(content)
        switch kind {
        case .sound:
            guard entry.remaining >= 28 else { return }
            try entry.skip(8)
            let layout = try entry.u16()
            try entry.skip(6)
            channels = Int(try entry.u16())
            try entry.skip(6)
            sampleRate = Int(try entry.u32() >> 16)
            // QuickTime has longer entries; ISO files also have version 1, in another table version
            if version == 0, layout == 1 { try entry.skip(16, "sample entry") }
            if version == 0, layout == 2 { try entry.skip(36, "sample entry") }
        case .picture:
            guard entry.remaining >= 78 else { return }
            try entry.skip(24)
            width = Int(try entry.u16())
            height = Int(try entry.u16())
            try entry.skip(50)
        case .other:
            guard entry.remaining >= 8 else { return }
            try entry.skip(8)
        }
        readChildren(try entry.slice(entry.remaining), kind)
    }

    private mutating func readChildren(_ children: RawSpan, _ kind: Kind) {
        var fields = Children()
        fields.read(children)
        format = fields.originalFormat ?? type
        configuration = fields.configuration
        encryption = fields.encryption
        encryptionFault = fields.encryption == nil ? fields.encryptionFault : nil
        switch type {
        case "drms", "aavd", "drmi": protection = fields.protection(scheme: fields.scheme ?? type)
        default:
            if type == "enca" || type == "encv" || fields.isProtected {
                protection = fields.protection(scheme: fields.scheme ?? fields.originalFormat ?? type)
            }
        }
        guard kind == .sound else { return }
        switch format {
        case "mp4a", "enca", "drms", "aavd": codec = fields.codec ?? .other("mp4a")
        case ".mp3", "ms\0U": codec = .mp3
        default: codec = .other("\(format)")
        }
    }

    /// The content of the boxes inside a sample entry.
    private struct Children {
        var codec: MP4Codec?
        var configuration: [UInt8] = []
        var isProtected = false
        var scheme: FourCC?
        var originalFormat: FourCC?
        var schemeInformation: [UInt8] = []
        var encryption: TrackEncryption?
        var encryptionFault: Malformed?

        func protection(scheme: FourCC) -> MP4Protection {
            MP4Protection(scheme: "\(scheme)", originalFormat: originalFormat, schemeInformation: schemeInformation)
        }

        mutating func read(_ span: RawSpan, depth: Int = 0) {
            var result = self
            MemoryBoxes.forEach(in: span) { type, content in
                if depth < 2, result.configuration.isEmpty, SampleEntry.configurations.contains(type) {
                    result.configuration = [UInt8](copying: content)
                }
                switch type {
                case "esds": result.codec = result.codec ?? ElementaryStreamDescriptor.codec(content)
                case "wave" where depth == 0: result.read(content, depth: 1)
                case "sinf" where depth < 2:
                    result.isProtected = true
                    result.read(content, depth: 2)
                case "frma" where content.byteCount >= 4 && depth == 2: result.originalFormat = FourCC(content.u32(at: 0))
                case "schm" where content.byteCount >= 8: result.scheme = FourCC(content.u32(at: 4))
                case "schi" where depth == 2:
                    result.schemeInformation = [UInt8](copying: content)
                    do throws(Malformed) { result.encryption = try SampleEntry.trackEncryption(content) } catch {
                        result.encryptionFault = error
                    }
                default: break
                }
            }
            self = result
        }
    }

    /// The parameters of Common Encryption in scheme information; nil if there are none.
    private static func trackEncryption(_ schemeInformation: RawSpan) throws(Malformed) -> TrackEncryption? {
        var encryption: TrackEncryption?
        var fault: Malformed?
        MemoryBoxes.forEach(in: schemeInformation) { type, content in
            if type == "tenc", encryption == nil {
                do throws(Malformed) { encryption = try TrackEncryption(tenc: content) } catch { fault = error }
            }
            if type == "uuid", content.byteCount >= 20, [UInt8](copying: content.extracting(0..<16)) == TrackEncryption.piffTrack
            {
                var cursor = ByteCursor(content.extracting(20..<content.byteCount))
                guard encryption == nil else { return }
                do throws(Malformed) { encryption = try TrackEncryption(piff: &cursor) } catch { fault = error }
            }
        }
        if encryption == nil, let fault { throw fault }
        return encryption
    }
}
