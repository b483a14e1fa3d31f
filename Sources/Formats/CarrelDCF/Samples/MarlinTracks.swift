// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// The protected tracks of a Marlin file (brand `MGSV`).
///
/// The movie's object descriptor (`iods`) names a track of object descriptors. Its only sample lists the objects, each a track
/// (by its index in `tref`/`mpod`) and a pointer to an IPMP descriptor, and the descriptors; a descriptor of type 0xA551 contains
/// a `sinf` (ISO/IEC 14496-1 §7.2, 14496-14 §3.1).
package enum MarlinTracks {
    /// Whether a file has Marlin's brand.
    package static func isMarlin(_ file: MP4File) -> Bool { file.brands.contains("MGSV") }

    /// Reads the protection of each track.
    ///
    /// - Parameter file: a file of the brand.
    /// - Returns: the protections by track id; tracks that are not in it are clear.
    /// - Throws: the errors of the reader; `Malformed` with the fault and its place in the file.
    package static func protections(of file: MP4File) throws -> [UInt32: MarlinProtection] {
        var movie = MarlinMovie()
        try movie.read(file.reader)
        guard let id = movie.objectTrackID else { return [:] }
        guard let track = file.tracks.first(where: { $0.id == id }) else {
            throw Malformed("track \(id) of object descriptors is missing", at: movie.start)
        }
        guard let references = movie.objectTracks[id] else {
            throw Malformed("track \(id) of object descriptors names no tracks", at: movie.start)
        }
        var samples = file.samples(of: track)
        guard let sample = try samples.next() else {
            throw Malformed("track \(id) of object descriptors has no sample", at: movie.start)
        }
        guard sample.size <= 1 << 20 else { throw Malformed("object descriptors are too large", at: Int(sample.offset)) }
        let base = Int(sample.offset)
        let bytes = try file.reader.readAll(sample.range)
        let commands: ObjectDescriptorCommands
        do throws(Malformed) { commands = try ObjectDescriptorCommands(bytes.rawSpan) } catch { throw error.moved(by: base) }
        var found: [UInt32: MarlinProtection] = [:]
        for object in commands.objects {
            for pointer in object.protections {
                guard let place = commands.protections[pointer] else { continue }
                let box = bytes.rawSpan.extracting(place)
                let protection = try MarlinProtection(box, base: base + place.lowerBound)
                for index in object.tracks {
                    guard index >= 1, index <= references.count else {
                        throw Malformed("object descriptor names track \(index) of \(references.count)", at: base)
                    }
                    found[references[index - 1]] = protection
                }
            }
        }
        return found
    }
}

/// The boxes of a movie that lead to its object descriptors.
private struct MarlinMovie {
    /// The track of object descriptors (`iods`).
    var objectTrackID: UInt32?
    /// The tracks that a track of object descriptors lists (`tref`/`mpod`), by its id.
    var objectTracks: [UInt32: [UInt32]] = [:]
    /// The offset of the movie, for errors.
    var start = 0

    mutating func read(_ reader: any ByteReader) throws {
        var window = FileWindow(reader)
        var at: Int64 = 0
        var count = 0
        while reader.length - at >= 8 {
            let box = try MP4Box(&window, at: at, in: 0..<reader.length)
            count += 1
            guard count <= MP4Box.limit else { throw Malformed("too many boxes", at: Int(at)) }
            if box.type == "moov" {
                start = Int(box.start)
                return try readMovie(box, &window)
            }
            at = box.content.upperBound
        }
    }

    private mutating func readMovie(_ movie: MP4Box, _ window: inout FileWindow) throws {
        let reader = window.reader
        var boxes: [MP4Box] = []
        try MP4Box.forEach(in: movie.content, &window) { box, _ in
            guard ["iods", "trak"].contains(box.type) else { return }
            guard boxes.count < 1000 else { throw Malformed("too many tracks", at: Int(box.start)) }
            boxes.append(box)
        }
        for box in boxes where box.type == "iods" {
            let content = try box.load(reader, limit: 4096)
            let base = Int(box.content.lowerBound)
            do throws(Malformed) { objectTrackID = try Self.objectTrack(content.rawSpan) } catch { throw error.moved(by: base) }
        }
        for box in boxes where box.type == "trak" {
            var id: UInt32?
            var references: MP4Box?
            try MP4Box.forEach(in: box.content, &window) { box, window in
                switch box.type {
                case "tkhd":
                    let at = box.content.lowerBound
                    let isLong = try window.u8(at: at, "track header") == 1
                    id = try window.u32(at: at + (isLong ? 20 : 12), "track header")
                case "tref": references = box
                default: break
                }
            }
            guard let id, let references else { continue }
            var list: [UInt32]?
            try MP4Box.forEach(in: references.content, &window) { box, _ in
                guard box.type == "mpod" else { return }
                let content = try box.load(reader, limit: 4096)
                list = stride(from: 0, to: content.count - 3, by: 4).map { content.rawSpan.u32(at: $0) }
            }
            if let list { objectTracks[id] = list }
        }
    }

    /// The first track id (ES_ID_Inc) of the initial object descriptor.
    private static func objectTrack(_ content: RawSpan) throws(Malformed) -> UInt32? {
        var cursor = ByteCursor(content)
        try cursor.skip(4, "object descriptor")
        guard let (tag, range) = try Descriptor.next(&cursor), tag == 0x10 else {
            throw Malformed("initial object descriptor is missing", at: 4)
        }
        var inner = ByteCursor(content.extracting(range))
        let flags = try inner.u16("object descriptor")
        // with a URL there is nothing else
        guard flags & 0x20 == 0 else { return nil }
        try inner.skip(5, "object descriptor")
        while let (tag, place) = try Descriptor.next(&inner) {
            if tag == 0x0e, place.count >= 4 { return inner.bytes.u32(at: place.lowerBound) }
        }
        return nil
    }
}
