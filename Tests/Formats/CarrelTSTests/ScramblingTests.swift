// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTS
import CarrelTesting
import CarrelVideo
import Testing

/// A vector of the fixtures.
private struct Vector {
    var name: String
    var clear: [UInt8]
    var scrambled: [UInt8]
}

private func vectors() throws -> (key: Secret, vectors: [Vector]) {
    let bytes = try Fixtures.bytes("drm/marlin/cissa-ts-packets.json")
    let json = try JSON.parse(bytes.rawSpan)
    let key = try #require(json["key_hex"]?.string.flatMap { Hex.decode($0) })
    let cases = try #require(json["cases"]?.array)
    return (
        Secret(key),
        cases.map {
            Vector(
                name: $0["name"]?.string ?? "",
                clear: $0["clear_hex"]?.string.flatMap { Hex.decode($0) } ?? [],
                scrambled: $0["scrambled_hex"]?.string.flatMap { Hex.decode($0) } ?? []
            )
        }
    )
}

private let evenID = [UInt8](repeating: 0xee, count: 16)
private let oddID = [UInt8](repeating: 0xdd, count: 16)
private let newID = [UInt8](repeating: 0xcc, count: 16)
private let keys: [[UInt8]: Secret] = [
    evenID: Secret([UInt8](repeating: 1, count: 16)), oddID: Secret([UInt8](repeating: 2, count: 16)),
    newID: Secret([UInt8](repeating: 3, count: 16)),
]

extension [UInt8] {
    /// Calls `body` with the bytes, to be changed where they lie.
    fileprivate mutating func withRaw<Result>(_ body: (inout MutableRawSpan) throws -> Result) rethrows -> Result {
        var span = mutableSpan
        var raw = unsafe span.mutableBytes
        return try body(&raw)
    }
}

/// Three segments of pictures and sound with key messages; the keys are even, odd, and a new even one.
private func scrambled() throws -> (clear: [UInt8], scrambled: [UInt8], units: [AccessUnit]) {
    let streams: [ElementaryStream] = [.video(.h264, pid: 0x100), .aac(pid: 0x101), .keyMessages(pid: 0x1f0)]
    var clear: [UInt8] = []
    var whole: [UInt8] = []
    var units: [AccessUnit] = []
    let messages = [
        try KeyMessage(
            contentID: "urn:marlin:organization:test:42",
            evenKeyID: evenID,
            oddKeyID: oddID,
            current: .even,
            nextChange: 131_400
        ),
        try KeyMessage(contentID: "urn:marlin:organization:test:42", evenKeyID: newID, oddKeyID: oddID, current: .odd),
        try KeyMessage(contentID: "urn:marlin:organization:test:42", evenKeyID: newID, current: .even),
    ]
    for (i, message) in messages.enumerated() {
        var muxer = try TransportStreamMuxer(streams, descriptors: [.scrambling(PacketCipher.mode)])
        muxer.counters = ContinuityCounters(segment: i, streams: 3)
        var out = PacketBuffer()
        muxer.beginSegment(into: &out)
        try muxer.writeSection(message.section(version: UInt8(i)), stream: 2, into: &out)
        let start = 45_000 + Int64(i) * 86_400
        let none: [UInt8] = []
        let part =
            pictures(24, size: { 300 + $0 * 97 % 900 }, start: start)
            + frames(45, pid: 0x101, size: { 60 + $0 * 31 % 200 }, start: start)
        units += part
        for unit in part.sorted(by: { $0.decodeTime < $1.decodeTime }) {
            try muxer.write(
                unit.pid == 0x100 ? 0 : 1,
                prefix: none.rawSpan,
                body: unit.data.rawSpan,
                presentationTime: unit.presentationTime,
                decodeTime: unit.decodeTime,
                isSync: unit.isRandomAccess,
                into: &out
            )
        }
        muxer.endSegment(alignsCounters: true, into: &out)
        clear += try unscrambled([UInt8](copying: out.bytes), streams)
        let id = try #require(message.keyID(message.current))
        var scrambler = try PacketScrambler(pids: [0x100, 0x101], key: try #require(keys[id]), parity: message.current)
        let count = out.count
        var bytes = out.mutableBytes
        try scrambler.scramble(&bytes, in: 0..<count)
        whole += [UInt8](copying: out.bytes)
    }
    return (clear, whole, units)
}

/// The packets of a segment whose map does not speak of scrambling, and with null packets for the key messages.
private func unscrambled(_ segment: [UInt8], _ streams: [ElementaryStream]) throws -> [UInt8] {
    let null = [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 0xff, count: 184)
    var out = PacketBuffer()
    var muxer = try TransportStreamMuxer(streams.filter { !$0.hasKeyMessages })
    muxer.beginSegment(into: &out)
    let map = Array([UInt8](copying: out.bytes)[188..<376])
    var bytes = segment
    for at in stride(from: 0, to: bytes.count, by: 188) {
        guard let packet = TransportPacket.parse(bytes.rawSpan, at: at) else { continue }
        if packet.pid == 0x1f0 { bytes.replaceSubrange(at..<at + 188, with: null) }
        if packet.pid == TransportStreamMuxer.mapPID {
            bytes.replaceSubrange(at..<at + 188, with: map)
            bytes[at + 3] |= packet.counter
        }
    }
    return bytes
}

struct `Scrambled transport streams` {
    @Test(arguments: [188, 188 * 3, 188 * 4096])
    func `have a map in several packets that no longer speaks of scrambling`(run: Int) throws {
        let (_, whole, _) = try scrambled()
        // a map of 3 packets, with other packets between them, and stuffing in the adaptation field of the second
        var table = ProgramMap(
            number: 1,
            clockPID: 0x100,
            descriptors: [
                .scrambling(PacketCipher.mode), .privateData(String(repeating: "a", count: 200)),
                .privateData(String(repeating: "b", count: 150)),
            ],
            streams: [.video(.h264, pid: 0x100), .aac(pid: 0x101), .keyMessages(pid: 0x1f0)]
        )
        // the map of the next segment has the counter 1
        var counter: UInt8 = 14
        let packets = try table.section().packets(pid: TransportStreamMuxer.mapPID, counter: &counter)
        try #require(packets.count == 3 * 188)
        let null = [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 0xff, count: 184)
        var bytes = Array(whole[..<188])
        for at in stride(from: 0, to: packets.count, by: 188) { bytes += packets[at..<at + 188] + null }
        let rest = Array(whole[376...])
        bytes += rest
        table.descriptors.removeFirst()
        table.streams.removeLast()
        var descrambler = TransportStreamDescrambler()
        var held = 0
        var at = 0
        while at < bytes.count {
            let end = min(at + run, bytes.count)
            var range = at - held..<end
            try bytes.withRaw { raw in
                while case .needsKey(let parity, let message, let offset) = try descrambler.descramble(&raw, in: range) {
                    try descrambler.setKey(try #require(keys[message?.keyID(parity) ?? []]), for: parity)
                    range = offset..<range.upperBound
                }
            }
            held = descrambler.unfinishedMap.map { end - $0 } ?? 0
            at = end
        }
        let read = try Demuxed(bytes)
        #expect(read.faults == [])
        #expect(read.programs.first == table)
        #expect(read.sections.isEmpty)
        #expect(bytes.count == 188 + 6 * 188 + rest.count)
    }

    @Test func `follow the vectors of DVB-CISSA`() throws {
        let (key, vectors) = try vectors()
        #expect(vectors.count == 4)
        for vector in vectors {
            var packet = vector.clear
            var scrambler = try PacketScrambler(pids: [0x101], key: key, parity: .even)
            try packet.withRaw { try scrambler.scramble(&$0, in: 0..<188) }
            #expect(packet == vector.scrambled, "\(vector.name)")
            var descrambler = TransportStreamDescrambler()
            try descrambler.setKey(key, for: .even)
            let outcome = try packet.withRaw { try descrambler.descramble(&$0, in: 0..<188) }
            #expect(outcome == .finished)
            #expect(packet == vector.clear, "\(vector.name)")
        }
    }

    @Test func `ask for each key once and come back byte for byte`() throws {
        let (clear, whole, units) = try scrambled()
        #expect(StreamCheck(clear, clockPID: 0x100).faults == [])
        #expect(clear != whole)
        var bytes = whole
        var descrambler = TransportStreamDescrambler()
        var asked: [[UInt8]?] = []
        try bytes.withRaw { raw in
            var rest = 0..<raw.byteCount
            while case .needsKey(let parity, let message, let offset) = try descrambler.descramble(&raw, in: rest) {
                let id = message?.keyID(parity)
                asked.append(id)
                try descrambler.setKey(try #require(id.flatMap { keys[$0] }), for: parity)
                rest = offset..<rest.upperBound
            }
        }
        #expect(asked == [evenID, oddID, newID])
        #expect(bytes == clear)
        #expect(descrambler.mode == 0x10 && descrambler.message?.contentID == "urn:marlin:organization:test:42")
        let read = try Demuxed(bytes)
        #expect(read.faults == [])
        #expect(
            plain(read.units).sorted { ($0.pid, $0.decodeTime) < ($1.pid, $1.decodeTime) }
                == units.sorted { ($0.pid, $0.decodeTime) < ($1.pid, $1.decodeTime) }
        )
        #expect(read.sections.isEmpty)
        #expect(try Demuxed(whole).sections.count >= 3)
    }

    @Test(arguments: [188, 188 * 7, 188 * 100])
    func `come in runs of any number of packets`(run: Int) throws {
        let (clear, whole, _) = try scrambled()
        var descrambler = TransportStreamDescrambler()
        var bytes = whole
        var at = 0
        while at < bytes.count {
            var rest = at..<min(at + run, bytes.count)
            try bytes.withRaw { raw in
                while case .needsKey(let parity, let message, let offset) = try descrambler.descramble(&raw, in: rest) {
                    try descrambler.setKey(try #require(keys[message?.keyID(parity) ?? []]), for: parity)
                    rest = offset..<rest.upperBound
                }
            }
            at += run
        }
        #expect(bytes == clear)
    }

    @Test func `are reported by the demuxer, which passes them over`() throws {
        let (_, whole, _) = try scrambled()
        let read = try Demuxed(whole)
        #expect(read.units == [])
        let scrambled = read.faults.filter { if case .scrambled = $0.kind { true } else { false } }
        #expect(scrambled.count == 6 && scrambled.count == read.faults.count)
        let messages = try read.sections.map { try KeyMessage(try TableSection($0.rawSpan)) }
        #expect(messages.first?.evenKeyID == evenID && messages.last?.evenKeyID == newID)
    }

    @Test func `rotate keys`() throws {
        var scrambler = try PacketScrambler(pids: [], key: Secret(evenID), parity: .even)
        try scrambler.rotate(to: Secret(oddID))
        #expect(scrambler.parity == .odd)
        #expect(throws: CryptoError.self) { try scrambler.rotate(to: Secret([1])) }
        #expect(scrambler.parity == .odd)
    }

    @Test func `are refused where a packet is cut off, scrambled twice, or in another mode`() throws {
        let (_, whole, _) = try scrambled()
        var bytes = whole
        var descrambler = TransportStreamDescrambler()
        #expect(throws: Malformed("transport packet is cut off", at: 0)) {
            try bytes.withRaw { try descrambler.descramble(&$0, in: 0..<187) }
        }
        #expect(throws: Malformed("sync byte of a packet is missing", at: 1)) {
            try bytes.withRaw { try descrambler.descramble(&$0, in: 1..<189) }
        }
        var scrambler = try PacketScrambler(pids: [0x100], key: Secret(evenID), parity: .even)
        #expect(throws: Malformed.self) { try bytes.withRaw { try scrambler.scramble(&$0, in: 0..<$0.byteCount) } }
        var muxer = try TransportStreamMuxer([.video(.h264, pid: 0x100)], descriptors: [.scrambling(2)])
        var out = PacketBuffer()
        muxer.beginSegment(into: &out)
        var other = [UInt8](copying: out.bytes) + whole.suffix(188 * 40)
        let result = Result { try other.withRaw { try descrambler.descramble(&$0, in: 0..<$0.byteCount) } }
        #expect(throws: Malformed.self) { try result.get() }
    }
}

struct `Key messages` {
    static let messages: [KeyMessage] = [
        try? KeyMessage(contentID: "", evenKeyID: evenID, current: .even),
        try? KeyMessage(contentID: "urn:marlin:kid:00", oddKeyID: oddID, current: .odd),
        try? KeyMessage(
            contentID: String(repeating: "é", count: 127),
            evenKeyID: evenID,
            oddKeyID: oddID,
            current: .odd,
            nextChange: 1 << 33 - 1
        ),
    ].compactMap(\.self)

    @Test(arguments: messages)
    func `are read as they were written`(message: KeyMessage) throws {
        let bytes = message.section(program: 7, version: 31).bytes
        let section = try TableSection(bytes.rawSpan)
        #expect(section.version == 31 && section.identifier == 7 && section.table == 0xc0)
        #expect(try KeyMessage(section) == message)
        // room for later versions
        var longer = section
        longer.body += [1, 2, 3]
        #expect(try KeyMessage(longer) == message)
        for length in 0..<section.body.count {
            var short = section
            short.body = Array(section.body.prefix(length))
            #expect(throws: Malformed.self) { try KeyMessage(short) }
        }
        for length in 0..<bytes.count {
            #expect(throws: Malformed.self) { _ = try TableSection(bytes.rawSpan.extracting(0..<length)) }
        }
        for i in bytes.indices {
            var changed = bytes
            changed[i] ^= 1 << UInt8(i % 8)
            #expect(throws: Malformed.self) { _ = try TableSection(changed.rawSpan) }
        }
    }

    @Test func `are refused with ids of another length, or none for the key in force`() {
        #expect(throws: Malformed.self) { try KeyMessage(contentID: "a", evenKeyID: [1], current: .even) }
        #expect(throws: Malformed.self) { try KeyMessage(contentID: "a", evenKeyID: evenID, current: .odd) }
        #expect(throws: Malformed.self) {
            try KeyMessage(contentID: String(repeating: "a", count: 256), evenKeyID: evenID, current: .even)
        }
        #expect(throws: Malformed.self) { try KeyMessage(TableSection(table: 2, identifier: 1, body: [1, 0, 0])) }
    }
}
