// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTesting
import Testing

private func read(_ tag: [UInt8]) -> AudioTags? {
    do throws(Malformed) { return try ID3.parse(tag.rawSpan) } catch { return nil }
}

private func frame(_ id: String, _ data: [UInt8], flags: UInt8 = 0, version: UInt8 = 4) -> [UInt8] {
    var bytes = Array(id.utf8)
    if version == 2 {
        bytes += [UInt8(data.count >> 16 & 255), UInt8(data.count >> 8 & 255), UInt8(data.count & 255)]
    } else if version == 3 {
        bytes.append(bigEndian: UInt32(data.count))
        bytes += [0, flags]
    } else {
        bytes += [0, UInt8(data.count >> 14 & 127), UInt8(data.count >> 7 & 127), UInt8(data.count & 127), 0, flags]
    }
    return bytes + data
}

private func utf16(_ text: String, bigEndian: Bool, mark: Bool) -> [UInt8] {
    let units = (mark ? [0xfeff] : []) + Array(text.utf16)
    return units.flatMap { unit -> [UInt8] in
        let pair = [UInt8(unit >> 8), UInt8(unit & 255)]
        return bigEndian ? pair : pair.reversed()
    }
}

struct `ID3 tags` {
    @Test(
        arguments: [
            ("Latin-1", [0] + Array("Sm\u{f8}rrebr\u{f8}d".unicodeScalars.map { UInt8($0.value) })),
            ("UTF-16 little", [1] + utf16("Smørrebrød", bigEndian: false, mark: true)),
            ("UTF-16 big", [1] + utf16("Smørrebrød", bigEndian: true, mark: true)),
            ("UTF-16BE", [2] + utf16("Smørrebrød", bigEndian: true, mark: false)),
            ("UTF-8", [3] + Array("Smørrebrød".utf8)),
            ("with an end", [3] + Array("Smørrebrød\0".utf8)),
            ("with a wide end", [1] + utf16("Smørrebrød\0", bigEndian: false, mark: true)),
        ] as [(String, [UInt8])]
    )
    func `are read in every encoding and version`(name: String, data: [UInt8]) {
        for version: UInt8 in [2, 3, 4] {
            let tag = MP3Bytes.id3(frame(version == 2 ? "TT2" : "TIT2", data, version: version), version: version)
            #expect(read(tag)?.title == "Smørrebrød", "\(name) in version 2.\(version)")
        }
    }

    @Test func `give all that a book has`() throws {
        func text(_ id: String, _ value: String) -> [UInt8] { frame(id, [3] + Array(value.utf8)) }
        var picture: [UInt8] = [3] + Array("image/png\0".utf8) + [3, 0]
        picture += [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]
        var body = text("TIT2", "Title") + text("TIT3", "Subtitle") + text("TALB", "Album") + text("TPE1", "One\0Two")
        body += text("TPE2", "Author") + text("TCOM", "Reader") + text("TPUB", "House") + text("TCOP", "2020 House")
        body += text("TDRC", "2020-05-01") + text("TYER", "1999") + text("TLAN", "dan") + text("TCON", "(101)")
        body +=
            text("TRCK", "3/12") + text("TPOS", "1") + text("TXXX", "ISBN\0" + "978-0-306-40615-7")
            + text("TXXX", "Narrated by\0X;Y")
        body += frame("COMM", [3] + Array("engiTunNORM\0 0000".utf8)) + frame("COMM", [3] + Array("eng\0A comment".utf8))
        body += frame("APIC", picture) + text("TXXX", "Description\0Long text")
        let tags = try #require(read(MP3Bytes.id3(body)))
        #expect(tags.title == "Title" && tags.subtitle == "Subtitle" && tags.album == "Album")
        #expect(tags.artists == ["One", "Two"] && tags.albumArtists == ["Author"] && tags.authors == ["Author"])
        #expect(tags.composers == ["Reader"] && tags.readers == ["X;Y"] && tags.narrators == ["X;Y"])
        #expect(tags.publisher == "House" && tags.copyright == "2020 House")
        #expect(tags.date == "2020-05-01" && tags.year == 2020)
        #expect(tags.language == "dan" && tags.genre == "Speech" && tags.comment == "A comment")
        #expect(tags.description == "Long text")
        #expect(tags.track == AudioTags.Number(3, of: 12) && tags.disc == AudioTags.Number(1))
        #expect(tags.isbn == "9780306406157")
        #expect(tags.cover?.mediaType == "image/png" && tags.cover?.bytes.count == 11)
    }

    @Test func `undo unsynchronisation`() {
        let plain: [UInt8] = [0, 0xff, 0xe0, 0xff, 0x00, 0x41]
        let written: [UInt8] = [0, 0xff, 0x00, 0xe0, 0xff, 0x00, 0x00, 0x41]
        let expected = "\u{ff}\u{e0}\u{ff}"
        #expect(read(MP3Bytes.id3(frame("TIT2", plain)))?.title == expected)
        // 2.3: the whole tag; the frame's size is that before
        let body = Array(frame("TIT2", plain, version: 3).prefix(10)) + written
        #expect(read(MP3Bytes.id3(body, version: 3, flags: 0x80))?.title == expected)
        // 2.4: frame by frame, with a data length or without
        #expect(read(MP3Bytes.id3(frame("TIT2", written, flags: 2)))?.title == expected)
        #expect(read(MP3Bytes.id3(frame("TIT2", [0, 0, 0, 6] + written, flags: 3)))?.title == expected)
        #expect(read(MP3Bytes.id3(frame("TIT2", written), flags: 0x80))?.title == expected)
    }

    @Test func `skip the extended header, a grouping byte, and frames that cannot be read`() {
        let title = frame("TIT2", Array("\u{3}title".utf8), version: 3)
        #expect(read(MP3Bytes.id3([0, 0, 0, 6, 0, 0, 0, 0, 0, 0] + title, version: 3, flags: 0x40))?.title == "title")
        #expect(read(MP3Bytes.id3([0, 0, 0, 6, 1, 0] + frame("TIT2", Array("\u{3}title".utf8)), flags: 0x40))?.title == "title")
        #expect(read(MP3Bytes.id3(frame("TIT2", [9, 3, 0x61], flags: 0x20, version: 3), version: 3))?.title == "a")
        #expect(read(MP3Bytes.id3(frame("TIT2", [9, 3, 0x61], flags: 0x40)))?.title == "a")
        let packed = frame("TALB", [3, 0x61], flags: 0x80, version: 3) + frame("TPE2", [3, 0x61], flags: 0x40, version: 3)
        let tags = read(MP3Bytes.id3(packed + title, version: 3))
        #expect(tags?.album == nil && tags?.albumArtists == [] && tags?.title == "title")
    }

    @Test func `forgive sizes written the way of another version`() {
        let long = [3] + [UInt8](repeating: 0x61, count: 300)
        var plainSize = Array("TIT2".utf8)
        plainSize.append(bigEndian: UInt32(long.count))
        let body = plainSize + [0, 0] + long + frame("TALB", [3, 0x62])
        #expect(read(MP3Bytes.id3(body))?.album == "b")
        let safe = Array(frame("TIT2", long).prefix(8)) + [0, 0] + long + frame("TALB", [3, 0x62], version: 3)
        #expect(read(MP3Bytes.id3(safe, version: 3))?.album == "b")
    }

    @Test func `read chapters in the order of their starts`() throws {
        func chapter(_ id: String, _ start: UInt32, _ title: String) -> [UInt8] {
            var data = Array(id.utf8) + [0]
            for number in [start, start + 1000, 0xffff_ffff, 0xffff_ffff] { data.append(bigEndian: number) }
            return frame("CHAP", data + frame("TIT2", [3] + Array(title.utf8)))
        }
        let body =
            frame("TIT2", [3, 0x61]) + chapter("c2", 61_500, "Second") + chapter("c1", 0, "First") + chapter("c3", 99_000, "")
        let tags = try #require(read(MP3Bytes.id3(body)))
        #expect(tags.chapters.map(\.start) == [0, 61500, 99000])
        #expect(tags.chapters.map(\.title) == ["First", "Second", ""])
        #expect(tags.title == "a")
    }

    @Test func `measure themselves from ten bytes`() {
        let tag = MP3Bytes.id3([UInt8](repeating: 0, count: 300), flags: 0x10)
        #expect(ID3.headerLength(Array(tag.prefix(10)).rawSpan) == tag.count)
        #expect(ID3.headerLength(Array(tag.prefix(9)).rawSpan) == nil)
        #expect(ID3.headerLength(MP3Bytes.id3([], version: 5).rawSpan) == nil)
    }

    @Test func `of version 1 are read`() throws {
        var tag = MP3Bytes.id3v1("A title")
        tag.replaceSubrange(33..<36, with: Array("Art".utf8))
        tag.replaceSubrange(93..<97, with: Array("1984".utf8))
        tag.replaceSubrange(97..<104, with: Array("comment".utf8))
        tag[126] = 7
        tag[127] = 183
        let tags = try ID3.parseV1(tag.rawSpan)
        #expect(tags.title == "A title" && tags.artists == ["Art"] && tags.year == 1984 && tags.comment == "comment")
        #expect(tags.track == AudioTags.Number(7) && tags.genre == "Audiobook" && tags.album == nil)
    }

    @Test func `survive any damage`() {
        var random = SplitMix(seed: 7)
        let good = MP3Bytes.id3(
            frame("TIT2", [1] + utf16("title", bigEndian: false, mark: true))
                + frame("COMM", [1, 101, 110, 103, 255, 254, 0, 0, 255, 254, 65, 0])
                + frame("APIC", [0, 65, 0, 3, 0, 1, 2, 3])
                + frame("CHAP", [99, 0] + [UInt8](repeating: 0, count: 16) + frame("TIT2", [3, 65]))
                + frame("TXXX", [2, 0, 65, 0, 0, 0, 66])
        )
        for _ in 0..<4_000 {
            var bad = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bad[Int.random(in: 3..<bad.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = read(bad)
            _ = read(Array(bad.prefix(Int.random(in: 0...bad.count, using: &random))))
        }
    }

    @Test func `of others are read`() throws {
        let tags = try #require(read(try Fixtures.bytes("media/ext/exoplayer/mp3/bear-id3.mp3")))
        #expect(tags.title == "Test title" && tags.artists == ["Test Artist"] && tags.album == "Test Album")
        #expect(tags.chapters.map(\.title) == ["Chapter title", ""] && tags.chapters.map(\.start) == [0, 600])
        #expect(tags.cover?.mediaType == "image/jpeg")
    }
}

struct `APE tags` {
    private func read(_ tag: [UInt8]) -> AudioTags? {
        do throws(Malformed) { return try APETag.parse(tag.rawSpan) } catch { return nil }
    }

    @Test(arguments: [true, false]) func `are read with header and without`(header: Bool) throws {
        var items = MP3Bytes.apeItem("Title", Array("Bogen".utf8)) + MP3Bytes.apeItem("Album Artist", Array("A\0B".utf8))
        items += MP3Bytes.apeItem("ISBN", Array("0-306-40615-2".utf8)) + MP3Bytes.apeItem("Narrator", Array("N".utf8))
        items += MP3Bytes.apeItem("Cover Art (Front)", Array("a.gif\0GIF89a..".utf8), binary: true)
        let tags = try #require(read(MP3Bytes.ape(items, header: header)))
        #expect(tags.title == "Bogen" && tags.authors == ["A", "B"] && tags.isbn == "9780306406157" && tags.narrators == ["N"])
        #expect(tags.cover?.mediaType == "image/gif")
    }

    @Test func `survive any damage`() {
        var random = SplitMix(seed: 8)
        let good = MP3Bytes.ape(
            MP3Bytes.apeItem("Title", Array("Bogen".utf8)) + MP3Bytes.apeItem("Cover Art (Front)", [0, 1], binary: true)
        )
        for _ in 0..<4_000 {
            var bad = good
            bad[Int.random(in: 0..<bad.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            _ = read(Array(bad.prefix(Int.random(in: 0...bad.count, using: &random))))
            _ = read(bad)
        }
    }
}

struct `Words of tags` {
    @Test(arguments: [
        ("(101)", "Speech"), ("183", "Audiobook"), ("(17)Rock and more", "Rock and more"), ("(RX)", "(RX)"), ("Krimi", "Krimi"),
        ("999", "999"),
    ])
    func `a genre may be a number`(text: String, name: String) {
        #expect(GenreList.name(for: text) == name)
    }

    @Test func `Windows characters stand where Latin-1 has none`() {
        let bytes: [UInt8] = [0x93, 0x41, 0x94, 0x80, 0xe6]
        #expect(TagText.latin1(bytes.rawSpan) == "“A”€æ")
    }
}
