import CarrelBytes
import CarrelDCF
import CarrelMP4
import Testing

/// The protections of all tracks, of pictures too.
enum ProtectedEntries {
    static func all(_ file: MP4File) throws -> [UInt32: MP4Protection] {
        var found: [UInt32: MP4Protection] = [:]
        var window = FileWindow(file.reader)
        try boxes(["moov", "trak", "mdia", "minf", "stbl", "stsd"], in: 0..<file.reader.length, &window) { index, box in
            let bytes = try box.load(file.reader, limit: 1 << 20)
            let name = Array("sinf".utf8)
            guard let at = bytes.indices.first(where: { bytes[$0...].starts(with: name) }) else { return }
            var scheme = ""
            var information: [UInt8] = []
            MemoryBoxes.forEach(in: bytes.rawSpan.extracting(droppingFirst: at + 4)) { type, content in
                if type == "schm" { scheme = FourCC(content.u32(at: 4)).description }
                if type == "schi" { information = [UInt8](copying: content) }
            }
            found[file.tracks[index].id] = MP4Protection(scheme: scheme, schemeInformation: information)
        }
        return found
    }

    private static func boxes(
        _ path: [FourCC],
        in range: Range<Int64>,
        _ window: inout FileWindow,
        index: Int = 0,
        _ visit: (Int, MP4Box) throws -> Void
    ) throws {
        var found: [MP4Box] = []
        try MP4Box.forEach(in: range, &window) { box, _ in if box.type == path[0] { found.append(box) } }
        for (number, box) in found.enumerated() {
            let index = path[0] == "trak" ? number : index
            if path.count == 1 {
                try visit(index, box)
            } else {
                try boxes(Array(path.dropFirst()), in: box.content, &window, index: index, visit)
            }
        }
    }
}

extension [UInt32: MP4Protection] {
    func sampleProtection(_ id: UInt32) throws -> SampleProtection {
        let protection = try #require(self[id])
        return try #require(try SampleProtection(protection))
    }
}
