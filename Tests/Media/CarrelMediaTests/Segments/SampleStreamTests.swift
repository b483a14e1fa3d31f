// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMedia
import CarrelTS
import CarrelTesting
import ProtectedMedia
import Testing

/// SAMPLE-AES encrypts the streams whose type says so (HLS SAMPLE-AES §2.2), and no other.
struct `A transport stream of SAMPLE-AES` {
    @Test func `keeps clear audio and timed ID3 tags next to encrypted pictures`() async throws {
        let folder = "media/hls/sample-aes"
        let bytes = try Fixtures.bytes("\(folder)/stream.m3u8")
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else { throw Malformed("no media playlist", at: 0) }
        let key = try #require(playlist.segments[0].keys.first)
        var keys = GivenKeys()
        keys.add(Secret(try Fixtures.bytes("\(folder)/saes.key")), for: .address(key.uri))

        let clear = try Self.read(try Fixtures.bytes("\(folder)/clear/seg-0.ts"))
        let encrypted = try Self.read(try Fixtures.bytes("\(folder)/seg-0.ts"))
        let pictures = try #require(encrypted.streams.first { $0.type == 0xdb })
        let audio = try #require(clear.streams.first { $0.type == 0x0f })
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 10] + [UInt8](repeating: 7, count: 10)

        // encrypted pictures, clear audio and a tag as one stream
        var muxer = try TransportStreamMuxer([pictures, audio, .timedID3(pid: 0x1f0)])
        var packets = PacketBuffer(capacity: 1 << 20)
        muxer.beginSegment(into: &packets)
        let units =
            encrypted.units.filter { $0.pid == pictures.pid }.map { (0, $0) }
            + clear.units.filter { $0.pid == audio.pid }.map { (1, $0) }
        let first = try #require(units.map(\.1.presentationTime).min())
        func write(_ stream: Int, _ data: [UInt8], _ presented: Int64, _ decoded: Int64, _ isSync: Bool) throws {
            try muxer.write(
                stream,
                prefix: RawSpan(),
                body: data.rawSpan,
                presentationTime: presented,
                decodeTime: decoded,
                isSync: isSync,
                into: &packets
            )
        }
        try write(2, tag, first, first, true)
        for (stream, unit) in units.sorted(by: { $0.1.decodeTime < $1.1.decodeTime }) {
            try write(stream, unit.data, unit.presentationTime, unit.decodeTime, unit.isRandomAccess)
        }
        muxer.endSegment(into: &packets)

        let number = playlist.sequenceNumber(ofSegmentAt: 0)
        var decrypter = try await MediaSegmentDecrypter(key, segment: number, keys: keys)
        var sink = BytesSink()
        try await decrypter.decrypt(packets.bytes, to: &sink)
        try await decrypter.finish(to: &sink)
        let result = try Self.read(sink.bytes)
        func data(_ read: Read, _ pid: UInt16) -> [[UInt8]] { read.units.filter { $0.pid == pid }.map(\.data) }
        #expect(data(result, pictures.pid) == data(clear, try #require(clear.streams.first { $0.type == 0x1b }).pid))
        #expect(data(result, audio.pid) == data(clear, audio.pid) && data(result, audio.pid).count > 50)
        #expect(data(result, 0x1f0) == [tag])
        #expect(result.streams.map(\.type) == [0x1b, 0x0f, 0x15])
    }

    private struct Read {
        var streams: [ElementaryStream] = []
        var units: [AccessUnit] = []
    }

    private static func read(_ bytes: [UInt8]) throws -> Read {
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(bytes.rawSpan)
        try demuxer.finish()
        var read = Read()
        while let event = demuxer.next() {
            switch event {
            case .program(let map): read.streams = map.streams
            case .unit(let unit): read.units.append(unit)
            case .fault(let fault): Issue.record("\(fault)")
            default: break
            }
        }
        return read
    }
}
