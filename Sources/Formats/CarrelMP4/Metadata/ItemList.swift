// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// The item list of iTunes-style metadata (`moov/udta/meta/ilst`).
struct ItemList {
    private(set) var tags = AudioTags()
    private(set) var gapless: GaplessInfo?

    private static let itemLimit = 2000
    private static let textLimit = 1 << 16

    /// A value of an item: its type (1 UTF-8, 2 UTF-16, 13 JPEG, 14 PNG, 21 number, 0 implicit) and the range of its bytes.
    private struct Value {
        var type: UInt32
        var range: Range<Int64>
    }

    mutating func read(_ content: Range<Int64>, _ window: inout FileWindow) throws {
        var count = 0
        var list = self
        try MP4Box.forEach(in: content, &window) { item, window in
            count += 1
            if count > Self.itemLimit { return }
            var values: [Value] = []
            var name: String?
            try MP4Box.forEach(in: item.content, &window) { box, window in
                guard box.content.count >= 4 else { return }
                let at = box.content.lowerBound
                switch box.type {
                case "data" where box.content.count >= 8 && values.count < 64:
                    let type = try window.u32(at: at, "item") & 0xff_ffff
                    values.append(Value(type: type, range: at + 8..<box.content.upperBound))
                case "name" where box.content.count <= 4 + 256:
                    let bytes = try window.reader.readAll(at + 4..<box.content.upperBound)
                    name = TagText.utf8(bytes.rawSpan)
                default: break
                }
            }
            try list.take(item.type, name, values, window.reader)
        }
        self = list
    }

    private mutating func take(_ type: FourCC, _ name: String?, _ values: [Value], _ reader: any ByteReader) throws {
        switch type {
        case "©nam": tags.title = try text(values, reader)
        case "©st3": tags.subtitle = try text(values, reader)
        case "©alb": tags.album = try text(values, reader)
        case "©ART": tags.artists = try texts(values, reader)
        case "aART": tags.albumArtists = try texts(values, reader)
        case "©wrt", "©com": tags.composers = try texts(values, reader)
        case "©nrt": tags.readers = try texts(values, reader)
        case "©pub": tags.publisher = try text(values, reader)
        case "©day": tags.date = try text(values, reader)
        case "©gen": tags.genre = try text(values, reader).map(GenreList.name)
        case "gnre":
            let number = try numbers(values, reader).first ?? 0
            tags.genre = tags.genre ?? GenreList.name(number: number - 1)
        case "©cmt": tags.comment = try text(values, reader)
        case "ldes": tags.description = try text(values, reader) ?? tags.description
        case "desc", "©des": tags.description = try tags.description ?? text(values, reader)
        case "cprt", "©cpy": tags.copyright = try tags.copyright ?? text(values, reader)
        case "©lan": tags.language = try text(values, reader)
        case "trkn": tags.track = number(try numbers(values, reader))
        case "disk": tags.disc = number(try numbers(values, reader))
        case "covr":
            guard tags.cover == nil, let value = values.first, value.range.count <= AudioTags.Cover.limit else { return }
            tags.cover = AudioTags.Cover(try reader.readAll(value.range))
        case "----":
            guard let name else { return }
            if name == "iTunSMPB" {
                gapless = try text(values, reader).flatMap(GaplessInfo.init)
            } else {
                tags.set(named: name, to: try texts(values, reader))
            }
        default: break
        }
    }

    private func text(_ values: [Value], _ reader: any ByteReader) throws -> String? { try texts(values, reader).first }

    private func texts(_ values: [Value], _ reader: any ByteReader) throws -> [String] {
        var texts: [String] = []
        for value in values where value.range.count <= Self.textLimit && (value.type <= 2 || value.type == 4 || value.type == 5) {
            let bytes = try reader.readAll(value.range)
            let isWide = value.type == 2 || value.type == 5
            let text = isWide ? TagText.utf16(bytes.rawSpan, bigEndian: true) : TagText.utf8(bytes.rawSpan)
            if let text = TagText.trimmed(text) { texts.append(text) }
        }
        return texts
    }

    /// The 16-bit numbers of the first value.
    private func numbers(_ values: [Value], _ reader: any ByteReader) throws -> [Int] {
        guard let value = values.first, value.range.count <= 16 else { return [] }
        let bytes = try reader.readAll(value.range)
        return (0..<bytes.count / 2).map { Int(bytes.rawSpan.u16(at: $0 * 2)) }
    }

    /// Reads a number and a total, after two empty bytes.
    private func number(_ numbers: [Int]) -> AudioTags.Number? {
        guard numbers.count >= 2, numbers[1] > 0 else { return nil }
        return AudioTags.Number(numbers[1], of: numbers.count > 2 && numbers[2] > 0 ? numbers[2] : nil)
    }

    /// Reads a box as a text of a QuickTime user-data list, if it is one (QuickTime File Format, "User Data Text Strings").
    static func readPlain(_ box: MP4Box, _ window: inout FileWindow, into tags: inout AudioTags) throws {
        let names: [FourCC: String] = [
            "©nam": "title", "©ART": "artist", "©aut": "author", "©alb": "album", "©day": "date", "©cmt": "comment",
            "©cpy": "copyright",
            "©gen": "genre", "©wrt": "composer", "©pub": "publisher",
        ]
        guard let name = names[box.type], box.content.count > 4, box.content.count <= textLimit else { return }
        let bytes = try window.reader.readAll(box.content)
        let end = min(bytes.count, 4 + Int(bytes.rawSpan.u16(at: 0)))
        let text = TagText.utf8(bytes.rawSpan.extracting(4..<end))
        if let text = TagText.trimmed(text) { tags.set(named: name, to: [text]) }
    }
}
