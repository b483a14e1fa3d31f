// SPDX-License-Identifier: Apache-2.0

import CarrelVideo
import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

/// The clear film of the fixtures as one scrambled transport stream (DVB-CISSA), whose keys change with each sync picture.
struct ScrambledFilm {
    private(set) var bytes: [UInt8] = []
    private(set) var keys = GivenKeys()

    /// - Parameter film: an MP4 of H.264 and AAC.
    /// - Throws: what skips the test; what ffmpeg and the muxer throw.
    init(_ film: String) async throws {
        let directory = TemporaryDirectory()
        let clear = directory.file("clear.ts")
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-nostdin", "-i", film, "-c", "copy", "-f", "mpegts", clear,
        ])
        var demuxer = TransportStreamDemuxer()
        let clearBytes = try #require(directory.read("clear.ts"))
        try demuxer.consume(clearBytes.rawSpan)
        try demuxer.finish()
        var units: [AccessUnit] = []
        while let event = demuxer.next() {
            if case .unit(let unit) = event { units.append(unit) }
        }
        let cuts = units.filter { $0.pid == 0x100 && $0.isRandomAccess }.map(\.decodeTime)
        try #require(cuts.count > 1)
        try mux(units, cuts)
    }

    /// Adds the key of a part.
    @discardableResult static func addKey(_ number: Int, to keys: inout GivenKeys) -> (id: [UInt8], key: Secret) {
        let id = [UInt8](repeating: UInt8(number + 1), count: 16)
        let key = Secret([UInt8](repeating: UInt8(number + 65), count: 16))
        keys.add(key, for: .id(id))
        return (id, key)
    }

    private mutating func mux(_ units: [AccessUnit], _ cuts: [Int64]) throws {
        let streams: [ElementaryStream] = [.video(.h264, pid: 0x100), .aac(pid: 0x101), .keyMessages(pid: 0x1f0)]
        var muxer = try TransportStreamMuxer(streams, descriptors: [.scrambling(PacketCipher.mode)])
        let none: [UInt8] = []
        for (number, cut) in cuts.enumerated() {
            let (id, key) = Self.addKey(number, to: &keys)
            let parity: KeyParity = number % 2 == 0 ? .even : .odd
            var out = PacketBuffer()
            muxer.beginSegment(into: &out)
            let message = try KeyMessage(
                contentID: "urn:example:film",
                evenKeyID: parity == .even ? id : nil,
                oddKeyID: parity == .odd ? id : nil,
                current: parity
            )
            try muxer.writeSection(message.section(version: UInt8(number & 31)), stream: 2, into: &out)
            let next = number + 1 < cuts.count ? cuts[number + 1] : .max
            let first = number == 0 ? .min : cut
            for unit in units.filter({ $0.decodeTime >= first && $0.decodeTime < next }).sorted(by: {
                $0.decodeTime < $1.decodeTime
            }) {
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
            muxer.endSegment(into: &out)
            var scrambler = try PacketScrambler(pids: [0x100, 0x101], key: key, parity: parity)
            let count = out.count
            var span = out.mutableBytes
            try scrambler.scramble(&span, in: 0..<count)
            bytes += [UInt8](copying: out.bytes)
        }
    }
}
