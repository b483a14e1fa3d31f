// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelHLS
import CarrelPackager
import Testing

struct `Playlist template` {
    static let ticket = "abcdefghijklmnopqrstuvwxyz_-"

    static func index(_ codec: AudioCodec = .mp3(.mpeg1), _ rate: Int = 44100, frames: Int, seconds: Double = 10) throws
        -> SegmentIndex
    {
        let format = try #require(AudioFormat(codec: codec, sampleRate: rate, channels: 1))
        var builder = SegmentIndexBuilder(format: format, targetDuration: seconds)
        for _ in 0..<frames { builder.append(frameLength: 200) }
        return builder.finish()
    }

    func read(_ bytes: [UInt8]) throws -> MediaPlaylist {
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else {
            throw Malformed("playlist is not a media playlist", at: 0)
        }
        return playlist
    }

    @Test func `writes what players are served`() throws {
        let template = PlaylistTemplate(try Self.index(frames: 1000), form: .transportStream)
        #expect(template.keyCount == 1)
        let text = String(decoding: try template.render(ticket: Self.ticket) { "keys/\($0).key" }, as: UTF8.self)
        #expect(
            text == """
                #EXTM3U
                #EXT-X-VERSION:3
                #EXT-X-TARGETDURATION:10
                #EXT-X-PLAYLIST-TYPE:VOD
                #EXT-X-MEDIA-SEQUENCE:0
                #EXT-X-KEY:METHOD=AES-128,URI="keys/0.key"
                #EXTINF:10.004898,
                abcdefghijklmnopqrstuvwxyz_-/0.ts
                #EXTINF:10.004898,
                abcdefghijklmnopqrstuvwxyz_-/1.ts
                #EXTINF:6.112653,
                abcdefghijklmnopqrstuvwxyz_-/2.ts
                #EXT-X-ENDLIST

                """
        )
    }

    @Test(
        arguments: [
            (.mp3(.mpeg1), 44100, 383 * 7200 - 100, 10), (.mp3(.mpeg1), 48000, 5000, 10), (.mp3(.mpeg2), 22050, 5000, 6),
            (.aac(.lc), 44100, 9000, 4.005), (.aac(.he), 24000, 3, 10), (.aac(.lc), 8000, 100, 0.1),
        ] as [(AudioCodec, Int, Int, Double)]
    )
    func `never drifts from the samples`(codec: AudioCodec, rate: Int, frames: Int, seconds: Double) throws {
        let index = try Self.index(codec, rate, frames: frames, seconds: seconds)
        let playlist = try read(try PlaylistTemplate(index, form: .packed).render(ticket: Self.ticket, keyURI: nil))
        #expect(playlist.segments.count == index.segmentCount)
        var total = Duration.zero
        for (number, segment) in playlist.segments.enumerated() {
            let start = Double(index.segment(number).startSample) / Double(rate)
            #expect(abs(total / .seconds(1) - start) < 0.000_000_51)
            total += segment.duration
        }
        #expect(abs(total / .seconds(1) - Double(index.totalSamples) / Double(rate)) < 0.000_000_51)
        let longest = playlist.segments.map(\.duration).max() ?? .zero
        #expect(playlist.targetDuration == UInt64(max(1, (longest / .seconds(1)).rounded())))
        #expect(playlist.isEnded && playlist.kind == .vod && playlist.mediaSequence == 0 && playlist.version == 3)
    }

    @Test(arguments: [1, 2, 3, 7, 99, 100, 101, 1000])
    func `is what the general writer writes, keys rotating or not`(segmentsPerKey: Int) throws {
        let index = try Self.index(.aac(.lc), 44100, frames: 431 * 99 + 5)
        let template = PlaylistTemplate(index, form: .packed, segmentsPerKey: segmentsPerKey)
        #expect(template.keyCount == (100 + segmentsPerKey - 1) / segmentsPerKey)
        let rendered = try template.render(ticket: Self.ticket) { "offline://example.org/\(Self.ticket)/\($0).key" }
        let playlist = try read(rendered)
        for (number, segment) in playlist.segments.enumerated() {
            #expect(segment.uri == "\(Self.ticket)/\(number).aac")
            let key = EncryptionKey(uri: "offline://example.org/\(Self.ticket)/\(number / segmentsPerKey).key")
            #expect(segment.keys == [key])
        }
        #expect(try playlist.write() == rendered)
        #expect(try template.render(ticket: Self.ticket) { "offline://example.org/\(Self.ticket)/\($0).key" } == rendered)
    }

    @Test func `leaves no ticket of another listener in a playlist`() throws {
        let template = PlaylistTemplate(try Self.index(frames: 383 * 50), form: .transportStream, segmentsPerKey: 3)
        let one = String(repeating: "1", count: 28)
        let two = String(repeating: "2", count: 28)
        let first = try template.render(ticket: one) { "\(one)/\($0).key" }
        let second = try template.render(ticket: two) { "\(two)/\($0).key" }
        #expect(first != second)
        #expect(String(decoding: second, as: UTF8.self).replacing(two, with: one) == String(decoding: first, as: UTF8.self))
        #expect(!String(decoding: second, as: UTF8.self).contains(one))
        #expect(template.memory >= second.count - 17 * 80 && template.memory < second.count * 2)
    }

    @Test func `writes an empty title unchanged`() throws {
        let template = PlaylistTemplate(try Self.index(frames: 0), form: .packed)
        let playlist = try read(try template.render(ticket: Self.ticket) { "\($0)" })
        #expect(playlist.segments.isEmpty && playlist.isEnded && playlist.targetDuration == 1)
    }

    @Test(arguments: [
        "", "short", "abcdefghijklmnopqrstuvwxyz_-x", "abcdefghijklmnopqrstuvwxyz_/", "abcdefghijklmnopqrstuvwxyz\n1",
    ])
    func `refuses tickets that are none`(ticket: String) throws {
        let template = PlaylistTemplate(try Self.index(frames: 10), form: .packed)
        let caught = #expect(throws: PackagerError.self) { try template.render(ticket: ticket, keyURI: nil) }
        #expect(caught?.code == .ticket)
    }

    @Test(arguments: ["", "a\"b", "a b", "a\nb", "é"])
    func `refuses key URIs that would break the playlist`(uri: String) throws {
        let template = PlaylistTemplate(try Self.index(frames: 10), form: .packed)
        let caught = #expect(throws: PackagerError.self) { try template.render(ticket: Self.ticket) { _ in uri } }
        #expect(caught?.code == .keyURI)
    }
}
