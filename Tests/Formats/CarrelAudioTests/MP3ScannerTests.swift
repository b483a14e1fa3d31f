// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import Testing

struct `MP3 scanner` {
    static let title = [UInt8]("TIT2".utf8) + [0, 0, 0, 6, 0, 0, 3] + "title".utf8

    @Test func `passes plain frames unchanged`() throws {
        let file = MP3Bytes.large(10)
        let scan = MP3Scan(file)
        #expect(scan.frames == file)
        let summary = try #require(scan.summary)
        #expect(summary.format == AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 2))
        #expect(summary.frameCount == 10 && scan.count == 10)
        #expect(summary.byteCount == 2080)
        #expect(summary.sampleCount == 11520)
        #expect(!summary.isVariableBitrate)
        #expect(summary.averageBitrate / 100 == 637)
        #expect(summary.truncatedAt == nil && summary.junk.byteCount == 0 && summary.inconsistency == nil && summary.tags.isEmpty)
        #expect(summary.missingFrames == 0)
    }

    @Test func `takes one frame alone for a file`() {
        #expect(MP3Scan(MP3Bytes.large(1)).summary?.frameCount == 1)
    }

    @Test(
        arguments: [
            ("ID3v2 in front", MP3Bytes.id3(title), [], [MP3Tag.Kind.id3v2]),
            ("two ID3v2", MP3Bytes.id3(title) + MP3Bytes.id3(title, version: 3), [], [.id3v2, .id3v2]),
            ("ID3v2 with footer behind", [], MP3Bytes.id3(title, flags: 0x10), [.id3v2]),
            ("ID3v1", [], MP3Bytes.id3v1(), [.id3v1]),
            ("ID3v1 with a plus", [], MP3Bytes.id3v1("+ and more"), [.id3v1]),
            (
                "enhanced ID3v1", [], Array("TAG+".utf8) + [UInt8](repeating: 0x41, count: 223) + MP3Bytes.id3v1(),
                [.enhancedID3v1, .id3v1]
            ),
            ("APE in front", MP3Bytes.ape(MP3Bytes.apeItem("Title", Array("x".utf8))), [], [.ape]),
            ("APE behind", [], MP3Bytes.ape(MP3Bytes.apeItem("Title", Array("x".utf8))) + MP3Bytes.id3v1(), [.ape, .id3v1]),
            ("APE without header", [], MP3Bytes.ape(MP3Bytes.apeItem("Title", Array("x".utf8)), header: false), [.ape]),
            ("Lyrics3", [], MP3Bytes.lyrics("IND00002" + "10") + MP3Bytes.id3v1(), [.lyrics3, .id3v1]),
            ("old Lyrics3", [], Array("LYRICSBEGINla la laLYRICSEND".utf8) + MP3Bytes.id3v1(), [.lyrics3, .id3v1]),
            ("zeros around", [UInt8](repeating: 0, count: 3000), [UInt8](repeating: 0, count: 3000), []),
        ] as [(String, [UInt8], [UInt8], [MP3Tag.Kind])]
    )
    func `leaves tags out and says where they are`(name: String, head: [UInt8], tail: [UInt8], kinds: [MP3Tag.Kind]) throws {
        for audio in [MP3Bytes.large(5), MP3Bytes.small(5)] {
            let scan = MP3Scan(head + audio + tail)
            #expect(scan.frames == audio, "\(name)")
            let summary = try #require(scan.summary)
            #expect(summary.junk.byteCount == 0)
            #expect(summary.truncatedAt == nil)
            #expect(summary.tags.map(\.kind) == kinds)
            #expect(summary.tags.reduce(0) { $0 + $1.range.count } == (kinds.isEmpty ? 0 : head.count + tail.count))
            for tag in summary.tags {
                #expect(tag.range.upperBound <= head.count || tag.range.lowerBound >= head.count + audio.count)
            }
        }
    }

    @Test func `continues over tags in the middle of joined files`() throws {
        let one =
            MP3Bytes.id3(Self.title) + MP3Bytes.info(frames: 7, delay: 576, padding: 900) + MP3Bytes.large(7) + MP3Bytes.id3v1()
        let two =
            MP3Bytes.id3(Self.title) + MP3Bytes.info(frames: 3, delay: 1105, padding: 1200) + MP3Bytes.large(3) + MP3Bytes.id3v1()
        let scan = MP3Scan(one + two)
        #expect(scan.frames == MP3Bytes.large(10))
        let summary = try #require(scan.summary)
        #expect(summary.declaredFrames == 10 && summary.missingFrames == 0)
        #expect(summary.encoderDelay == 576 && summary.encoderPadding == 1200)
        #expect(summary.tags.map(\.kind) == [.id3v2, .id3v1, .id3v2, .id3v1])
        #expect(summary.junk.byteCount == 0)
    }

    @Test func `drops info frames between joined files without tags`() throws {
        let scan = MP3Scan(MP3Bytes.info(frames: 4) + MP3Bytes.large(4) + MP3Bytes.info(frames: 4) + MP3Bytes.large(4))
        #expect(scan.frames == MP3Bytes.large(8))
        #expect(scan.summary?.declaredFrames == 8)
    }

    @Test(arguments: ["Info", "Xing"])
    func `takes delay and padding from the LAME extension`(mark: String) throws {
        let summary = try #require(MP3Scan(MP3Bytes.info(mark, frames: 6, delay: 576, padding: 1000) + MP3Bytes.large(6)).summary)
        #expect(summary.frameCount == 6)
        #expect(summary.encoderDelay == 576 && summary.leadingSamples == 1105)
        #expect(summary.encoderPadding == 1000 && summary.trailingSamples == 471)
        let other = try #require(MP3Scan(MP3Bytes.info(frames: nil, encoder: "Unknown") + MP3Bytes.large(6)).summary)
        #expect(other.frameCount == 6 && other.encoderDelay == nil && other.leadingSamples == 0 && other.declaredFrames == nil)
    }

    @Test func `recognises VBRI`() throws {
        let summary = try #require(MP3Scan(MP3Bytes.vbri(frames: 6) + MP3Bytes.large(6)).summary)
        #expect(summary.frameCount == 6 && summary.declaredFrames == 6)
    }

    @Test func `keeps a frame whose sound happens to say Xing`() throws {
        var frame = MP3Bytes.large(1)
        frame.replaceSubrange(36..<40, with: Array("Xing".utf8))
        let scan = MP3Scan(MP3Bytes.large(3) + frame + MP3Bytes.large(3))
        #expect(scan.count == 7)
    }

    @Test func `finds the stream again after junk and counts the junk`() throws {
        let junk = [UInt8](repeating: 0xff, count: 40) + [UInt8](repeating: 0x12, count: 1000)
        let scan = MP3Scan(MP3Bytes.large(4) + junk + MP3Bytes.large(4))
        #expect(scan.frames == MP3Bytes.large(8))
        #expect(scan.summary?.junk == MP3Summary.Junk(byteCount: 1040, firstOffset: 832))
        let head = MP3Scan(junk + MP3Bytes.large(4))
        #expect(head.frames == MP3Bytes.large(4))
        #expect(head.summary?.junk.firstOffset == 0)
    }

    @Test func `does not lose the frame after a truncated one`() throws {
        let cut = Array(MP3Bytes.large(1).prefix(100))
        let scan = MP3Scan(MP3Bytes.large(4) + cut + MP3Bytes.large(4))
        #expect(scan.frames == MP3Bytes.large(8))
        #expect(scan.summary?.junk == MP3Summary.Junk(byteCount: 100, firstOffset: 832))
        #expect(scan.summary?.truncatedAt == nil)
    }

    @Test(arguments: [1, 3, 4, 5, 36, 207])
    func `keeps what is whole of a file that is cut off`(rest: Int) throws {
        let cut = Array(MP3Bytes.large(1).prefix(rest))
        let scan = MP3Scan(MP3Bytes.large(4) + cut)
        #expect(scan.frames == MP3Bytes.large(4))
        #expect(scan.summary?.truncatedAt == (rest < 4 ? nil : 832))
        let tagged = MP3Scan(MP3Bytes.large(4) + cut + MP3Bytes.id3v1())
        #expect(tagged.frames == MP3Bytes.large(4))
        #expect(tagged.summary?.tags.map(\.kind) == [.id3v1])
    }

    @Test func `notices that frames are missing`() throws {
        let summary = try #require(MP3Scan(MP3Bytes.info(frames: 1000) + MP3Bytes.large(400)).summary)
        #expect(summary.missingFrames == 600 && summary.isCutOff)
        // a partial frame matters only if the number of frames is not declared
        let rest = MP3Bytes.large(1).prefix(100)
        #expect(MP3Scan(MP3Bytes.info(frames: 4) + MP3Bytes.large(4) + rest).summary?.isCutOff == false)
        #expect(MP3Scan(MP3Bytes.large(4) + rest).summary?.isCutOff == true)
        #expect(MP3Scan(MP3Bytes.large(4)).summary?.isCutOff == false)
        // some encoders count the info frame too
        #expect(MP3Scan(MP3Bytes.info(frames: 401) + MP3Bytes.large(400)).summary?.missingFrames == 0)
    }

    @Test(arguments: [
        ("sample rate", UInt32(0xfffb_5400), 192), ("version", 0xfff3_5000, 130), ("channels", 0xfffb_50c0, 208),
    ])
    func `stops where the format changes`(what: String, word: UInt32, length: Int) throws {
        let other = Array(repeatElement(MP3Bytes.frame(word, length: length), count: 5).joined())
        let scan = MP3Scan(MP3Bytes.large(5) + other + MP3Bytes.large(5))
        #expect(scan.frames == MP3Bytes.large(5), "\(what)")
        let change = try #require(scan.summary?.inconsistency)
        #expect(change.offset == 1040)
        #expect(change.format == MP3FrameHeader.parse(word)?.format)
    }

    @Test func `allows the stereo mode and the bit rate to change`() throws {
        let joint = MP3Bytes.frame(0xfffb_5040, length: 208)
        let faster = MP3Bytes.frame(0xfffb_9200, length: 418)
        let scan = MP3Scan(MP3Bytes.large(2) + joint + faster + joint)
        #expect(scan.count == 5 && scan.frames.count == 1250)
        #expect(scan.summary?.isVariableBitrate == true)
    }

    @Test func `takes frames with a CRC, and their info frame wherever its mark is`() throws {
        let audio = Array(repeatElement(MP3Bytes.frame(0xfffa_5000, length: 208), count: 4).joined())
        #expect(MP3Scan(audio).frames == audio)
        var info = MP3Bytes.info(frames: 4)
        info[1] = 0xfa
        #expect(MP3Scan(info + audio).frames == audio)
        info.insert(contentsOf: [1, 2], at: 4)
        let summary = try #require(MP3Scan(info.dropLast(2) + audio).summary)
        #expect(summary.frameCount == 4 && summary.declaredFrames == 4 && summary.encoderDelay == 576)
    }

    @Test func `unwraps RIFF`() throws {
        let scan = MP3Scan(MP3Bytes.wave(MP3Bytes.large(5), codec: 0x55))
        #expect(scan.frames == MP3Bytes.large(5))
        #expect(scan.summary?.junk.byteCount == 0)
        #expect(MP3Scan(MP3Bytes.wave(MP3Bytes.large(5), codec: 1)).failure?.what == "RIFF wave holds another codec than MP3")
    }

    @Test(
        arguments: [
            ([], "file is empty"),
            ([UInt8](repeating: 0, count: 5000), "no MP3 frame found"),
            (Array("This is text and no sound.".utf8), "no MP3 frame found"),
            (
                Array(repeatElement(MP3Bytes.frame(0xfffb_0000, length: 300), count: 5).joined()),
                "no MP3 frame found: free-format bit rate is not supported"
            ),
            (
                Array(repeatElement(MP3Bytes.frame(0xfffd_5000, length: 261), count: 5).joined()),
                "no MP3 frame found: layer is not III"
            ),
            (Array(MP3Bytes.id3(MP3Bytes.large(10)).dropLast(100)), "id3v2 tag reaches past the end of the file"),
            (MP3Bytes.id3(title), "no MP3 frame found"),
            (MP3Bytes.info(frames: 12), "no MP3 frame found"),
        ] as [([UInt8], String)]
    )
    func `refuses what holds no MP3 and says why`(file: [UInt8], reason: String) {
        let scan = MP3Scan(file)
        #expect(scan.failure?.what == reason)
        #expect(scan.frames.isEmpty)
    }

    @Test func `gives up on a long file without a frame`() {
        var scanner = MP3Scanner(searchLimit: 1000)
        let junk = [UInt8](repeating: 0x20, count: 2000)
        scanner.feed(junk.rawSpan) { _, _ in }
        #expect(scanner.isDone)
        scanner.feed(MP3Bytes.large(10).rawSpan) { _, _ in Issue.record("frames after giving up") }
    }

    @Test func `hands on what the receiver throws`() {
        struct Full: Error {}
        var scanner = MP3Scanner()
        var caught = false
        do throws(Full) {
            try scanner.feed(MP3Bytes.large(100).rawSpan) { (_, _) throws(Full) in throw Full() }
        } catch {
            caught = true
        }
        #expect(caught)
    }
}
