import CarrelAudio
import CarrelBytes

/// The audio part of a sample description (`stsd`, ISO/IEC 14496-12 §8.5.2).
struct SampleEntry {
    var codec: MP4Codec
    var protection: MP4Protection?
    var sampleRate: Int
    var channels: Int
    /// More than one description: the format may change on the way.
    var hasOthers: Bool

    /// Reads the content of an `stsd` box; nil when it describes nothing.
    init?(_ table: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(table)
        let version = try cursor.u8("sample description")
        try cursor.skip(3, "sample description")
        let count = try cursor.u32("sample description")
        guard count > 0 else { return nil }
        hasOthers = count > 1
        let size = Int(try cursor.u32("sample entry"))
        let type = FourCC(try cursor.u32("sample entry"))
        guard size >= 8 else { throw Malformed("sample entry is smaller than its header", at: 8) }
        var entry = ByteCursor(try cursor.slice(size - 8, "sample entry"))
        codec = .other("\(type)")
        sampleRate = 0
        channels = 0
        guard entry.remaining >= 28 else { return }
        try entry.skip(8)
        let layout = try entry.u16()
        try entry.skip(6)
        channels = Int(try entry.u16())
        try entry.skip(6)
        sampleRate = Int(try entry.u32() >> 16)
        // QuickTime has longer entries; ISO files say 1 too, in another table version
        if version == 0, layout == 1 { try entry.skip(16, "sample entry") }
        if version == 0, layout == 2 { try entry.skip(36, "sample entry") }
        readChildren(type, try entry.slice(entry.remaining))
    }

    private mutating func readChildren(_ type: FourCC, _ children: RawSpan) {
        var found = Children()
        found.read(children)
        let original = found.originalFormat ?? type
        switch type {
        case "drms", "aavd": protection = found.protection(scheme: found.scheme ?? type)
        default:
            if type == "enca" || found.isProtected {
                protection = found.protection(scheme: found.scheme ?? found.originalFormat ?? type)
            }
        }
        switch original {
        case "mp4a", "enca", "drms", "aavd": codec = found.codec ?? .other("mp4a")
        case ".mp3", "ms\0U": codec = .mp3
        default: codec = .other("\(original)")
        }
    }

    /// The content of the boxes inside a sample entry.
    private struct Children {
        var codec: MP4Codec?
        var isProtected = false
        var scheme: FourCC?
        var originalFormat: FourCC?
        var schemeInformation: [UInt8] = []

        func protection(scheme: FourCC) -> MP4Protection {
            MP4Protection(scheme: "\(scheme)", originalFormat: originalFormat, schemeInformation: schemeInformation)
        }

        mutating func read(_ span: RawSpan, depth: Int = 0) {
            var found = self
            MemoryBoxes.forEach(in: span) { type, content in
                switch type {
                case "esds": found.codec = found.codec ?? ElementaryStreamDescriptor.codec(content)
                case "wave" where depth == 0: found.read(content, depth: 1)
                case "sinf" where depth < 2:
                    found.isProtected = true
                    found.read(content, depth: 2)
                case "frma" where content.byteCount >= 4 && depth == 2: found.originalFormat = FourCC(content.u32(at: 0))
                case "schm" where content.byteCount >= 8: found.scheme = FourCC(content.u32(at: 4))
                case "schi" where depth == 2: found.schemeInformation = [UInt8](copying: content)
                default: break
                }
            }
            self = found
        }
    }
}
