// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS
import CarrelTesting
import CarrelVideo
import Testing

/// The time and size of a packet that ffprobe lists.
struct ProbedPacket: Equatable {
    var presentationTime: Int64
    var decodeTime: Int64
    var size: Int
}

/// The packets of a file by packet identifier, as ffprobe lists them.
func probe(_ path: String) async throws -> [UInt16: [ProbedPacket]] {
    let text = try await checkProcess([
        try requirePeer("ffprobe"), "-v", "quiet", "-show_entries", "packet=stream_index,pts,dts,size:stream=index,id", "-of",
        "compact", path,
    ])
    var pids: [Int: UInt16] = [:]
    var packets: [Int: [ProbedPacket]] = [:]
    for line in text.split(separator: "\n") {
        var fields: [Substring: Substring] = [:]
        for field in line.split(separator: "|") {
            let parts = field.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        if line.hasPrefix("stream|"), let index = fields["index"], let id = fields["id"] {
            pids[Int(index) ?? -1] = UInt16(id.dropFirst(2), radix: 16)
        }
        guard line.hasPrefix("packet|"), let index = fields["stream_index"].flatMap({ Int($0) }) else { continue }
        packets[index, default: []].append(
            ProbedPacket(
                presentationTime: fields["pts"].flatMap { Int64($0) } ?? -1,
                decodeTime: fields["dts"].flatMap { Int64($0) } ?? -1,
                size: fields["size"].flatMap { Int($0) } ?? -1
            )
        )
    }
    var byPID: [UInt16: [ProbedPacket]] = [:]
    for (index, pid) in pids { byPID[pid] = packets[index] ?? [] }
    return byPID
}

struct `Transport streams of other muxers` {
    /// All but those whose samples are encrypted, which ffprobe splits in its own way.
    static let clear = FixtureSegments.all.filter { !$0.hasPrefix("hls/sample-aes/seg") }

    @Test func `are all there`() throws {
        _ = try Fixtures.path("media")
        #expect(FixtureSegments.all.count >= 33)
    }

    @Test(arguments: clear)
    func `give the units and times that ffprobe lists`(file: String) async throws {
        let bytes = try FixtureSegments.bytes(file)
        let directory = TemporaryDirectory()
        let read = try Demuxed(bytes)
        #expect(read.faults == [])
        #expect(read.programs.count == 1 && !read.clocks.isEmpty)
        let probed = try await probe(directory.write("a.ts", bytes))
        for stream in read.streams {
            let ours = read.units(stream.pid).map {
                ProbedPacket(presentationTime: $0.presentationTime, decodeTime: $0.decodeTime, size: $0.data.count)
            }
            let theirs = probed[stream.pid] ?? []
            switch stream.coding {
            case .latm:
                // whole PES packets, of which ffprobe takes the frames apart
                #expect(ours.map(\.size).reduce(0, +) == theirs.map(\.size).reduce(0, +))
            default:
                #expect(ours.count == theirs.count, "\(file) \(stream.pid)")
                // ffprobe gives a zero byte in front of a start code of H.265 to one unit or the other, and rounds times of audio
                // frames that have none of their own from frame to frame
                let bytes = stream.coding == .video(.h265) ? 1 : 0
                let ticks = [.aac, .mpegAudio].contains(stream.coding) ? 1 : 0
                let different = zip(ours, theirs).first {
                    abs($0.size - $1.size) > bytes || abs($0.presentationTime - $1.presentationTime) > ticks
                        || abs($0.decodeTime - $1.decodeTime) > ticks
                }
                #expect(different == nil, "\(file) \(stream.pid)")
            }
        }
    }

    @Test(arguments: FixtureSegments.all)
    func `give the same whatever pieces they come in`(file: String) throws {
        let bytes = Array(try FixtureSegments.bytes(file).prefix(188 * 250))
        let whole = try Demuxed(bytes)
        #expect(!whole.units.isEmpty)
        for pieces in [[187], [188 * 3, 1, 189, 5000], [64]] + (bytes.count < 30_000 ? [[1]] : []) {
            let same = try Demuxed(bytes, pieces: pieces) == whole
            #expect(same, "pieces of \(pieces)")
        }
    }

    @Test(arguments: clear)
    func `come back the same from our muxer`(file: String) async throws {
        let read = try Demuxed(try FixtureSegments.bytes(file))
        // MPEG-2 video and LATM are named, not multiplexed
        guard read.streams.allSatisfy({ $0.coding != .other && $0.coding != .latm }) else { return }
        let bytes = try mux(read.units, read.streams)
        let clock = try #require(read.streams.first { if case .video = $0.coding { true } else { false } } ?? read.streams.last)
        // decoding times before the clock's start wrap
        let check = StreamCheck(bytes, clockPID: clock.pid)
        #expect(check.faults == [])
        let again = try Demuxed(bytes)
        #expect(again.faults == [])
        for stream in read.streams {
            let (ours, theirs) = (plain(again.units(stream.pid)), plain(read.units(stream.pid)))
            #expect(ours.map(\.data) == theirs.map(\.data))
            // audio keeps its time to a tick or two: a PES packet's time is rounded, and muxers round differently
            #expect(zip(ours, theirs).allSatisfy { abs($0.presentationTime - $1.presentationTime) <= 2 })
        }
    }
}
