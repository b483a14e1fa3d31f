// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelVideo

/// A scrambled stream of pictures and sound that a test makes, whose keys take turns.
struct ScrambledMovie {
    /// Seconds, each of which begins with the tables, a key message and a sync picture.
    var seconds = 12
    /// Seconds under one key.
    var rotation = 4
    /// Seconds between key messages.
    var messageInterval = 1
    /// Bytes of a picture.
    var pictureSize = 1200
    /// Seconds between sync pictures.
    var syncInterval = 1
    var isScrambled = true

    private(set) var clear: [UInt8] = []
    private(set) var scrambled: [UInt8] = []
    /// The byte of each sync picture's packet, and its clock in ticks.
    private(set) var accesses: [(offset: Int64, time: Int64)] = []

    static func keyID(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number + 1), count: 16) }
    static func key(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: number) &+ 0x40, count: 16) }

    var keys: GivenKeys {
        var keys = GivenKeys()
        for number in 0...seconds / rotation { keys.add(Secret(Self.key(number)), for: .id(Self.keyID(number))) }
        return keys
    }

    init(_ change: (inout ScrambledMovie) -> Void = { _ in }) throws {
        change(&self)
        try make()
    }

    private mutating func make() throws {
        let streams: [ElementaryStream] = [.video(.h264, pid: 0x100), .aac(pid: 0x101), .keyMessages(pid: 0x1f0)]
        var muxer = try TransportStreamMuxer(streams, descriptors: isScrambled ? [.scrambling(PacketCipher.mode)] : [])
        var out = PacketBuffer()
        let none: [UInt8] = []
        for second in 0..<seconds {
            let number = second / rotation
            let parity: KeyParity = number % 2 == 0 ? .even : .odd
            out.removeAll()
            let start = Int64(second) * 90_000 + 900_000
            if second % syncInterval == 0 { muxer.beginSegment(into: &out) }
            if isScrambled, second % messageInterval == 0 || second % rotation == 0 {
                let message = try KeyMessage(
                    contentID: "urn:test:1",
                    evenKeyID: parity == .even ? Self.keyID(number) : nil,
                    oddKeyID: parity == .odd ? Self.keyID(number) : nil,
                    current: parity
                )
                try muxer.writeSection(message.section(version: UInt8(number & 31)), stream: 2, into: &out)
            }
            for picture in 0..<25 {
                let isSync = picture == 0 && second % syncInterval == 0
                let time = start + Int64(picture) * 3600
                let unit =
                    [0, 0, 0, 1, 9, 0x10, 0, 0, 0, 1, isSync ? 0x65 : 0x41, 0x88]
                    + (0..<pictureSize).map { UInt8(truncatingIfNeeded: ($0 * 7 + picture + second) % 250 + 2) }
                try muxer.write(
                    0,
                    prefix: none.rawSpan,
                    body: unit.rawSpan,
                    presentationTime: time,
                    decodeTime: time,
                    isSync: isSync,
                    into: &out
                )
                let frame = [0xff, 0xf1, 0x50, 0x80, 0x08, 0x1f, 0xfc] + [UInt8](repeating: UInt8(picture), count: 57)
                try muxer.write(
                    1,
                    prefix: none.rawSpan,
                    body: frame.rawSpan,
                    presentationTime: time,
                    decodeTime: time,
                    isSync: true,
                    into: &out
                )
            }
            muxer.endSegment(into: &out)
            let before = Int64(clear.count)
            let bytes = [UInt8](copying: out.bytes)
            for offset in stride(from: 0, to: bytes.count, by: 188) {
                guard let packet = TransportPacket.parse(bytes.rawSpan, at: offset), packet.pid == 0x100, packet.isRandomAccess,
                    packet.startsUnit, let clock = packet.clock
                else { continue }
                accesses.append((before + Int64(offset), Int64(clock / 300)))
            }
            clear += bytes
            guard isScrambled else {
                scrambled += bytes
                continue
            }
            var scrambler = try PacketScrambler(pids: [0x100, 0x101], key: Secret(Self.key(number)), parity: parity)
            let count = out.count
            var span = out.mutableBytes
            try scrambler.scramble(&span, in: 0..<count)
            scrambled += [UInt8](copying: out.bytes)
        }
    }

    /// The whole stream, descrambled from its beginning on.
    var descrambled: [UInt8] { get async throws { try await Self.descrambled(scrambled, keys) } }

    static func descrambled(_ bytes: [UInt8], _ keys: GivenKeys) async throws -> [UInt8] {
        var descrambler = PacketDescrambler()
        var sink = BytesSink()
        try await descrambler.write(bytes.rawSpan, to: &sink, keys: keys)
        try await descrambler.finish(to: &sink, keys: keys)
        return sink.bytes
    }

    /// The scrambled stream with a map that fills two packets: the second comes `distance` packets after the first.
    func withLongMap(distance: Int) throws -> [UInt8] {
        var out: [UInt8] = []
        var late: [(packet: [UInt8], place: Int)] = []
        var counter: UInt8 = 0
        for at in stride(from: 0, to: scrambled.count, by: 188) {
            let packet = Array(scrambled[at..<at + 188])
            if TransportPacket.parse(packet.rawSpan)?.pid == TransportStreamMuxer.mapPID {
                let map = ProgramMap(
                    number: 1,
                    clockPID: 0x100,
                    descriptors: [
                        .scrambling(PacketCipher.mode), StreamDescriptor(tag: 0xf0, content: [UInt8](repeating: 7, count: 200)),
                    ],
                    streams: [.video(.h264, pid: 0x100), .aac(pid: 0x101), .keyMessages(pid: 0x1f0)]
                )
                let packets = try map.section().packets(pid: TransportStreamMuxer.mapPID, counter: &counter)
                out += packets.prefix(188)
                late.append((Array(packets.dropFirst(188)), at / 188 + distance))
            } else {
                out += packet
            }
            while let next = late.first, next.place <= at / 188 {
                out += next.packet
                late.removeFirst()
            }
        }
        return out
    }

    /// An index of its cuts.
    var index: ScrambledIndex {
        get throws {
            let first = accesses.first?.time ?? 0
            // the first one has what comes before it
            var entries = accesses.enumerated().map {
                ScrambledIndex.Entry(offset: $0 == 0 ? 0 : $1.offset, time: $1.time - first)
            }
            entries.append(.init(offset: Int64(clear.count), time: Int64(seconds) * 90_000))
            return try ScrambledIndex(entries)
        }
    }
}
