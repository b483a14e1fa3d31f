// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelTesting
import Testing

private typealias B = MP4Builder

struct `MP4 file` {
    private func check(_ builder: MP4Builder) throws {
        let bytes = builder.file()
        let file = try open(bytes)
        let track = try #require(file.mainAudioTrack)
        let samples = try all(file.samples(of: track))
        #expect(samples.map { Array(bytes[Int($0.offset)..<Int($0.offset) + $0.size]) } == builder.samples)
        #expect(samples.allSatisfy { $0.duration == 1024 })
        var runs = file.samples(of: track)
        var sizes: [[Int]] = []
        while let run = try runs.nextRun(limit: 60) {
            sizes.append(run.sizes)
            #expect(run.range.count == run.sizes.reduce(0, +))
        }
        #expect(sizes.flatMap(\.self) == builder.sizes)
        #expect(sizes.allSatisfy { $0.count <= builder.samplesPerChunk && ($0.count == 1 || $0.reduce(0, +) <= 60) })
        #expect(runs.duration == Int64(1024 * builder.sizes.count))
    }

    @Test func `finds each sample, whatever the tables' form`() throws {
        var builder = MP4Builder()
        try check(builder)
        for perChunk in [1, 3, 5] {
            builder.samplesPerChunk = perChunk
            try check(builder)
        }
        builder.longOffsets = true
        try check(builder)
        for bits in [16, 8, 4] {
            builder.sizeBits = bits
            if bits == 4 { builder.sizes = [3, 7, 15, 1, 9, 2, 4] }
            try check(builder)
        }
        builder = MP4Builder()
        builder.sizes = [12, 12, 12, 12]
        builder.constantSize = 12
        try check(builder)
    }

    @Test func `writes ADTS frames`() throws {
        let builder = MP4Builder()
        let (bytes, summary) = try frames(open(builder.file()))
        let format = try #require(AudioFormat(codec: .aac(.lc), sampleRate: 44100, channels: 2))
        #expect(summary.format == format && summary.frameCount == 5 && summary.byteCount == 185 && summary.drift == 0)
        var at = 0
        for sample in builder.samples {
            let header = ADTSHeader.parse(bytes.rawSpan, at: at)
            #expect(header?.format == format && header?.frameLength == sample.count + 7)
            #expect(Array(bytes[at + 7..<at + 7 + sample.count]) == sample)
            at += 7 + sample.count
        }
        #expect(at == bytes.count)
    }

    @Test func `knows how much sound is not the work's`() throws {
        var builder = MP4Builder()
        builder.sizes = [Int](repeating: 9, count: 100)
        #expect(try frames(open(builder.file())).summary.trim == MP4Track.Trim(leading: 0, trailing: 0))
        // one edit from sample 1105 on, for two seconds
        builder.edits = B.words(0, 1, 2000, 1105, 0x10000)
        #expect(try frames(open(builder.file())).summary.trim == MP4Track.Trim(leading: 1105, trailing: 102_400 - 1105 - 88200))
        // silence first, then one edit to the end
        builder.edits = B.words(0, 2, 500, -1, 0x10000, 2298, 1024, 0x10000)
        #expect(try frames(open(builder.file())).summary.trim == MP4Track.Trim(leading: 1024, trailing: 0))
        // several intervals: played unchanged
        builder.edits = B.words(0, 2, 500, 1024, 0x10000, 500, 60000, 0x10000)
        #expect(try frames(open(builder.file())).summary.trim == MP4Track.Trim(leading: 0, trailing: 0))
        // iTunes says it exactly, and goes before the edit list
        let gapless = " 00000000 00000840 000001CA 00000000000182F6 00000000 00000000 00000000 00000000"
        builder.userData = B.metadata(B.freeForm("iTunSMPB", gapless))
        #expect(try frames(open(builder.file())).summary.trim == MP4Track.Trim(leading: 2112, trailing: 458))
        // HE-AAC: the track counts samples of twice the core's rate
        builder.config = [0x2b, 0x92, 0x08, 0x00]
        builder.duration = 2048
        let summary = try frames(open(builder.file())).summary
        #expect(summary.format == AudioFormat(codec: .aac(.he), sampleRate: 22050, channels: 2))
        #expect(summary.trim == MP4Track.Trim(leading: 1056, trailing: 229) && summary.drift == 0)
    }

    @Test func `notices a timeline with gaps`() throws {
        var builder = MP4Builder()
        builder.duration = 1200
        #expect(try frames(open(builder.file())).summary.drift == 5 * 176)
    }

    @Test func `reads every kind of metadata`() throws {
        var builder = MP4Builder()
        let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]
        var items = B.item("©nam", Array("Titlen".utf8)) + B.item("©ART", Array("A".utf8)) + B.item("aART", Array("B".utf8))
        items += B.item("©wrt", Array("C".utf8)) + B.item("©nrt", Array("N".utf8)) + B.item("©alb", Array("Album".utf8))
        items += B.item("©day", Array("2001-02-03T00:00:00Z".utf8)) + B.item("gnre", kind: 0, [0, 102])
        items += B.item("desc", Array("short".utf8)) + B.item("ldes", Array("long".utf8)) + B.item("cprt", Array("2001".utf8))
        items +=
            B.item("©pub", Array("P".utf8)) + B.item("trkn", kind: 0, [0, 0, 0, 3, 0, 9, 0, 0])
            + B.item("disk", kind: 0, [0, 0, 0, 1, 0, 0])
        items += B.item("covr", kind: 14, png) + B.item("©cmt", kind: 2, [0, 0x4b, 0, 0xe6])
        items += B.freeForm("ISBN", "978-0-306-40615-7") + B.freeForm("LANGUAGE", "da") + B.freeForm("ASIN", "B0000")
        builder.userData = B.metadata(items)
        let tags = try open(builder.file()).tags
        #expect(tags.title == "Titlen" && tags.artists == ["A"] && tags.authors == ["B"] && tags.narrators == ["N"])
        #expect(tags.album == "Album" && tags.year == 2001 && tags.genre == "Speech" && tags.description == "long")
        #expect(tags.copyright == "2001" && tags.publisher == "P" && tags.track == AudioTags.Number(3, of: 9))
        #expect(tags.disc == AudioTags.Number(1) && tags.comment == "Kæ" && tags.isbn == "9780306406157" && tags.language == "da")
        #expect(tags.cover?.mediaType == "image/png" && tags.cover?.bytes == png)
    }

    @Test func `reads QuickTime user data where there is nothing else`() throws {
        var builder = MP4Builder()
        builder.userData = B.box("©nam", [0, 3, 0x55, 0xc4], Array("abcd".utf8)) + B.words(0)
        #expect(try open(builder.file()).tags.title == "abc")
    }

    @Test func `reads chapters of Nero and of a text track`() throws {
        func nero(_ titles: [String]) -> [UInt8] {
            var list: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, UInt8(titles.count)]
            for (i, title) in titles.enumerated() {
                list += B.words(0, i * 15_000_000) + [UInt8(title.utf8.count)] + Array(title.utf8)
            }
            return B.box("chpl", list)
        }
        var builder = MP4Builder()
        builder.userData = nero(["One", "Two"])
        let listed = [AudioTags.Chapter(start: 0, title: "One"), AudioTags.Chapter(start: 1500, title: "Two")]
        #expect(try open(builder.file()).tags.chapters == listed)

        // the same movie with a text track whose samples follow it
        let texts: [[UInt8]] = [
            [0, 5] + Array("First".utf8), [0, 8, 0xfe, 0xff, 0, 0x53, 0, 0xe6, 0, 0x63] + B.box("encd", B.words(256)), [0, 0],
        ]
        var text = MP4Builder()
        text.sizes = texts.map(\.count)
        text.samplesPerChunk = 3
        text.duration = 2500
        text.timescale = 1000
        text.entry = B.box("text", [UInt8](repeating: 0, count: 51))
        builder.chapterTrack = 2
        builder.moreTracks = text.track(id: 2, kind: "text", offsets: [0])
        let end = builder.file().count
        builder.moreTracks = text.track(id: 2, kind: "text", offsets: [end + 8])
        let file = try open(builder.file() + B.box("mdat", texts.flatMap(\.self)))
        #expect(file.tracks.count == 2 && file.tracks[0].chapterTrackIDs == [2])
        #expect(file.tags.chapters.map(\.start) == [0, 2500, 5000])
        #expect(file.tags.chapters.map(\.title) == ["First", "Sæc", ""])
    }

    @Test(
        arguments: [
            ("drms", B.esds([0x12, 0x10]) + B.protection(original: "mp4a", scheme: "itun"), "Apple FairPlay", "itun"),
            ("drms", B.esds([0x12, 0x10]), "Apple FairPlay", "drms"),
            ("enca", B.esds([0x12, 0x10]) + B.protection(original: "mp4a", scheme: "cbcs"), "Common Encryption (cbcs)", "cbcs"),
            ("enca", B.protection(original: "mp4a", scheme: "iAEC"), "ISMACryp", "iAEC"),
            ("aavd", [], "Audible", "aavd"),
            ("mp4a", B.protection(original: "mp4a", scheme: "zzzz"), "protection scheme zzzz", "zzzz"),
        ] as [(String, [UInt8], String, String)]
    )
    func `names what protects a track`(type: String, children: [UInt8], name: String, scheme: String) throws {
        var builder = MP4Builder()
        builder.entry = B.entry(type, children)
        let track = try #require(try open(builder.file()).mainAudioTrack)
        #expect(track.protection?.scheme == scheme)
        #expect(track.protection?.description == name)
        #expect(track.framing == .transcode("track is protected by \(name)"))
    }

    @Test(arguments: [
        ("cenc/audio.cbc1.mp4", "cbc1"), ("cenc/audio.cbcs.mp4", "cbcs"), ("cenc/audio.cenc.mp4", "cenc"),
        ("cenc/audio.cens.mp4", "cens"),
        ("cenc/av-nonfrag.cenc.mp4", "cenc"), ("cenc/av.piff-cbc.mp4", "piff"), ("isma/av.isma-iaec.mp4", "iAEC"),
        ("dcf/av.pdcf-cbc.mp4", "odkm"),
        ("marlin/av.acbc.mp4", "MGSV"), ("ext/media3/sample_ac4_protected.mp4", "cenc"),
    ])
    func `names what protects the files of others`(name: String, scheme: String) throws {
        let track = try #require(try open(try Fixtures.bytes("media/\(name)")).mainAudioTrack)
        #expect(track.protection?.scheme == scheme)
    }
}
