import CarrelBytes
import CarrelTS
import CarrelTesting
import Testing

/// What ffprobe lists of one stream: times and sizes of its packets.
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
        guard line.hasPrefix("packet|"), let index = fields["stream_index"].flatMap({ Int($0) }), let size = fields["size"] else {
            continue
        }
        packets[index, default: []].append(
            ProbedPacket(
                presentationTime: fields["pts"].flatMap { Int64($0) } ?? -1,
                decodeTime: fields["dts"].flatMap { Int64($0) } ?? -1,
                size: Int(size) ?? -1
            )
        )
    }
    var byPID: [UInt16: [ProbedPacket]] = [:]
    for (index, pid) in pids { byPID[pid] = packets[index] ?? [] }
    return byPID
}

struct `Transport streams of other muxers` {
    @Test(arguments: [
        "ext/media3/ts/sample_h264.ts", "ext/media3/ts/sample_h265.ts", "ext/shaka-player/hls-gap/2.ts",
        "hls/sample-aes/clear/seg-0.ts",
        "ext/media3/ts/sample_h264_mpeg_audio.ts", "ext/media3/ts/sample_h264_no_access_unit_delimiters.ts",
        "ext/media3/ts/sample_mpeg_audio_with_audio_type.ts",
        "ext/shaka-player/hls-ts-mp3/media_w239891843_0.ts", "ext/media3/ts/sample_latm.ts",
        "ext/media3/ts/sample_h262_mpeg_audio.ts",
    ])
    func `give the units and times that ffprobe lists`(file: String) async throws {
        let path = try Fixtures.path("media/\(file)")
        let bytes = try Fixtures.bytes("media/\(file)")
        let read = try Demuxed(bytes)
        print(file, read.programs, read.faults.prefix(10), read.faults.count, read.clocks.count)
        let probed = try await probe(path)
        for stream in read.streams {
            let ours = read.units(stream.pid).map {
                ProbedPacket(presentationTime: $0.presentationTime, decodeTime: $0.decodeTime, size: $0.data.count)
            }
            let theirs = probed[stream.pid] ?? []
            print(stream.pid, stream.coding, ours.count, theirs.count, ours == theirs)
            for (a, b) in zip(ours, theirs).filter({ $0 != $1 }).prefix(3) { print(a, b) }
            if ours.count != theirs.count { print(ours.suffix(2), theirs.suffix(2)) }
        }
    }
}
