import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS
import CarrelTesting
import Testing

struct `The times of a transport stream` {
    /// Checks that decoding goes on in each stream, and comes before presentation; returns the units.
    @discardableResult
    private static func check(_ bytes: [UInt8]) throws -> [AccessUnit] {
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(bytes.rawSpan)
        try demuxer.finish()
        var last: [UInt16: Int64] = [:]
        var units: [AccessUnit] = []
        while let event = demuxer.next() {
            guard case .unit(let unit) = event else { continue }
            #expect(unit.decodeTime <= unit.presentationTime)
            if let last = last[unit.pid] { #expect(unit.decodeTime > last, "stream \(unit.pid)") }
            last[unit.pid] = unit.decodeTime
            units.append(unit)
        }
        return units
    }

    private static func remux(_ bytes: [UInt8]) throws -> [UInt8] {
        var remux = FragmentRemux()
        var sink = BytesSink()
        remux.append(bytes.rawSpan)
        remux.end()
        try remux.write(to: &sink)
        try remux.finish(to: &sink)
        return sink.bytes
    }

    /// Fragments whose runs have signed offsets, less by that much from the second run on.
    private static func shifted(_ file: [UInt8], by change: Int32) -> [UInt8] {
        var file = file
        let runs = file.indices.filter { file[$0...].starts(with: Array("trun".utf8)) }
        for (number, run) in runs.enumerated() {
            let flags = file.rawSpan.u32(at: run + 4) & 0xff_ffff
            guard flags & 0x800 != 0 else { continue }
            file[run + 4] = 1
            let count = Int(file.rawSpan.u32(at: run + 8))
            let length = (flags >> 8 & 15).nonzeroBitCount * 4
            var at = run + 12 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0) + length - 4
            for _ in 0..<count where number > 0 {
                let offset = Int32(bitPattern: file.rawSpan.u32(at: at)) - change
                for i in 0..<4 { file[at + i] = UInt8(truncatingIfNeeded: offset >> (24 - 8 * Int32(i))) }
                at += length
            }
        }
        return file
    }

    @Test(arguments: ["video.frag.mp4", "av.frag.mp4", "video-hevc.frag.mp4"])
    func `rise in each stream`(name: String) async throws {
        let bytes = try Fixtures.bytes("media/src/\(name)")
        let units = try Self.check(Self.remux(bytes))
        #expect(units.count >= 100)
        let decryption = try await MediaDecryption(of: BytesReader(bytes), as: .transportStream, keys: GivenKeys())
        var sink = BytesSink()
        try decryption.write(to: &sink)
        #expect(try Self.check(sink.bytes).count == units.count)
    }

    @Test func `rise when later fragments present pictures before the time of their decoding`() throws {
        let bytes = try Fixtures.bytes("media/src/video.frag.mp4")
        let file = try MP4File(BytesReader(bytes))
        let track = try #require(file.tracks.first)
        let early = Self.shifted(bytes, by: Int32(track.timescale / 5))
        try #require(early != bytes)
        var samples = try MP4File(BytesReader(early)).samples(of: track)
        var least: Int64 = 0
        while let sample = try samples.next() { least = min(least, sample.compositionOffset) }
        try #require(least < 0)
        try Self.check(Self.remux(early))
    }

    @Test func `are refused for tracks that present several parts of their media`() async throws {
        let bytes = try Fixtures.bytes("media/src/video.mp4")
        let list = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("elst".utf8)) })
        let count = bytes.rawSpan.u32(at: list + 8)
        let length = bytes[list + 4] == 0 ? 12 : 20
        let last = list + 12 + length * Int(count - 1)
        for isEmpty in [true, false] {
            var edit = Array(bytes[last..<last + length])
            if isEmpty { for i in (length - 4) / 2..<length - 4 { edit[i] = 255 } }
            var file = bytes
            file.insert(contentsOf: edit, at: last + length)
            file[list + 11] += 1
            for type in ["elst", "edts", "trak", "moov"] {
                let at = try #require(file.indices.first { file[$0...].starts(with: Array(type.utf8)) })
                let size = file.rawSpan.u32(at: at - 4) + UInt32(length)
                for i in 0..<4 { file[at - 4 + i] = UInt8(truncatingIfNeeded: size >> (24 - 8 * UInt32(i))) }
            }
            let reader = BytesReader(file)
            var sink = BytesSink()
            do {
                try (try await MediaDecryption(of: reader, as: .transportStream, keys: GivenKeys())).write(to: &sink)
                #expect(isEmpty)
            } catch let error as MediaError where error.code == .unsupported {
                #expect(!isEmpty && error.message.contains("several parts"))
            } catch let error as Malformed {
                // the samples have moved behind the edit list, and their places are those from before
                #expect(isEmpty, "\(error)")
            } catch let error as MediaError {
                #expect(isEmpty, "\(error)")
            }
        }
    }
}
