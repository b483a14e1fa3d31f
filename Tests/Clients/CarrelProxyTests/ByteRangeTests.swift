// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import ProtectedMedia
import Testing

struct `Ranges of a file` {
    private static let vector = [UInt8](repeating: 0x21, count: 16)
    private static let keyLine = "#EXT-X-KEY:METHOD=AES-128,URI=\"range.key\",IV=0x\(Hex.encode(vector))"

    /// How the file is encrypted.
    enum Encryption: CaseIterable { case eachRange, wholeFile }

    /// Concatenates the segments of each playlist of a clear package into one file.
    private static func join(_ package: ProtectedPackage, _ encryption: Encryption) throws {
        _ = package.directory.write("out/range.key", MarkedSegment.key)
        for name in ["video-1", "audio-1"] {
            guard let text = try? package.text("\(name).m3u8") else { continue }
            var file: [UInt8] = []
            var lines: [String] = []
            var place = 0
            func add(_ part: String) throws -> String {
                let bytes = try #require(package.directory.read("out/\(part)"))
                let sealed = encryption == .eachRange ? try MarkedSegment.encrypted(bytes, vector) : bytes
                defer { file += sealed }
                return "\(sealed.count)@\(file.count)"
            }
            for line in text.split(separator: "\n") {
                if line.hasPrefix("#EXT-X-MAP") {
                    let part = try #require(line.split(separator: "\"").dropFirst().first)
                    lines += [keyLine, "#EXT-X-MAP:URI=\"\(name).bin\",BYTERANGE=\"\(try add(String(part)))\""]
                } else if line.hasPrefix("#") {
                    if line.hasPrefix("#EXTINF"), !lines.contains(keyLine) { lines.append(keyLine) }
                    lines.append(String(line))
                } else {
                    // the place of all but the first follows from the one before (RFC 8216 §4.3.2.2)
                    let range = try add(String(line))
                    lines += ["#EXT-X-BYTERANGE:\(place == 0 ? range : String(range.prefix { $0 != "@" }))", "\(name).bin"]
                    place += 1
                }
            }
            if encryption == .wholeFile { file = try MarkedSegment.encrypted(file, vector) }
            _ = package.directory.write("out/\(name).bin", file)
            package.write("\(name).m3u8", lines.joined(separator: "\n") + "\n")
        }
    }

    private static func package(isTransport: Bool, _ encryption: Encryption) async throws -> ProtectedPackage {
        let package = try await ProtectedPackage { $0.isTransport = isTransport }
        try join(package, encryption)
        return package
    }

    @Test(arguments: [false, true], SourcePlace.allCases)
    func `in an HLS source, each encrypted by AES-128, play as the clear source`(isTransport: Bool, place: SourcePlace)
        async throws
    {
        let package = try await Self.package(isTransport: isTransport, .eachRange)
        let origin = try OriginServer(package.path)
        let source = place == .local ? package.playlist : "\(origin.origin)/master.m3u8"
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            try await `An HLS source`.play(source, output)
        }
        if place == .remote {
            let media = origin.requests.filter { $0.path.hasSuffix(".bin") }
            #expect(!media.isEmpty && media.allSatisfy { $0.headers["Range"] != nil })
        }
        await origin.stop()
    }

    @Test(arguments: [false, true]) func `cut out of a file that is encrypted as one are damaged segments`(isTransport: Bool)
        async throws
    {
        // a segment is encrypted by itself (RFC 8216 §4.3.2.4): what is not has neither its vector nor its padding
        let package = try await Self.package(isTransport: isTransport, .wholeFile)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(package.playlist, .hls)
        let got = try await ProxyRun.get(session.url)
        if got.status == 200 {
            for segment in try await ProxyRun.segments(of: session) {
                let answer = try? await ProxyRun.get(segment)
                #expect(answer == nil || answer?.status == 502)
            }
        }
        #expect(!run.codes.isEmpty && Set(run.codes) == [.damaged], "\(run.codes)")
        await run.proxy.stop()
    }

    @Test(arguments: [false, true]) func `are refused where the server of an HLS source has none`(isTransport: Bool) async throws
    {
        let package = try await Self.package(isTransport: isTransport, .eachRange)
        let origin = try OriginServer(package.path, hasRanges: false)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL("\(origin.origin)/master.m3u8", .hls)
        for segment in try await ProxyRun.segments(of: session) {
            try await ProxyRun.expectRefusal(segment, .noRanges, 502, of: run)
        }
        await run.proxy.stop()
        await origin.stop()
    }

    // MARK: - DASH

    enum Addressing: CaseIterable { case base, list }

    /// The manifest of a fixture whose representations are one file each, in another form.
    private static func manifest(_ addressing: Addressing) throws -> String {
        let folder = "media/dash/ondemand-cbcs"
        var text = String(decoding: try Fixtures.bytes("\(folder)/manifest.mpd"), as: UTF8.self)
        guard addressing == .list else { return text }
        for name in ["v_cbcs_dashinit.mp4", "a_cbcs_dashinit.mp4"] {
            let bytes = try Fixtures.bytes("\(folder)/\(name)")
            let file = try MP4File(BytesReader(bytes))
            let references = try #require(try SegmentReferences(file.indexes, of: file.tracks.map(\.id), in: BytesReader(bytes)))
            let index = try #require(file.indexes.first)
            var list = "<SegmentList timescale=\"\(references.timescale)\"><Initialization range=\"0-\(index.start - 1)\"/>"
            list += "<SegmentTimeline>"
            for part in references.subsegments { list += "<S t=\"\(part.time)\" d=\"\(part.duration)\"/>" }
            list += "</SegmentTimeline>"
            for part in references.subsegments {
                list += "<SegmentURL mediaRange=\"\(part.range.lowerBound)-\(part.range.upperBound - 1)\"/>"
            }
            list += "</SegmentList>"
            // the element of this file's representation
            let base = try #require(text.firstRange(of: "<BaseURL>\(name)</BaseURL>"))
            let from = try #require(text[base.upperBound...].firstRange(of: "<SegmentBase"))
            let to = try #require(text[from.lowerBound...].firstRange(of: "</SegmentBase>"))
            text.replaceSubrange(from.lowerBound..<to.upperBound, with: list)
        }
        return text
    }

    private static func folder(_ addressing: Addressing) throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        for name in ["v_cbcs_dashinit.mp4", "a_cbcs_dashinit.mp4"] {
            directory.write(name, try Fixtures.bytes("media/dash/ondemand-cbcs/\(name)"))
        }
        directory.write("film.mpd", try manifest(addressing))
        return directory
    }

    @Test(arguments: Addressing.allCases, SourcePlace.allCases)
    func `that a manifest names play as the clear source`(addressing: Addressing, place: SourcePlace) async throws {
        let directory = try Self.folder(addressing)
        let origin = try OriginServer(directory.path)
        let (_, keys) = try `A DASH source`.source("ondemand-cbcs")
        let clear = try await Frames.ffmpeg(try Fixtures.path("media/src/av-h264-aac.mp4"))
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            let run = try ProxyRun { $0.output = output }
            let source = place == .local ? directory.file("film.mpd") : "\(origin.origin)/film.mpd"
            let session = try run.proxy.makeURL(source, .dash, keys: keys)
            let played = try await Frames.ffmpeg(session.url)
            #expect(played.pictures == clear.pictures)
            #expect(played.audio.dropFirst() == clear.audio[...] || played.audio == clear.audio)
            #expect(played.complaints == "")
            #expect(run.codes == [])
            await run.proxy.stop()
        }
        await origin.stop()
    }

    @Test(arguments: Addressing.allCases) func `that a manifest names are refused where the server has none`(
        addressing: Addressing
    )
        async throws
    {
        let directory = try Self.folder(addressing)
        let origin = try OriginServer(directory.path, hasRanges: false)
        let (_, keys) = try `A DASH source`.source("ondemand-cbcs")
        let run = try ProxyRun()
        let session = try run.proxy.makeURL("\(origin.origin)/film.mpd", .dash, keys: keys)
        if addressing == .base {
            // the index itself is a range
            try await ProxyRun.expectRefusal(session.url, .noRanges, 502, of: run)
        } else {
            for segment in try await ProxyRun.segments(of: session) {
                try await ProxyRun.expectRefusal(segment, .noRanges, 502, of: run)
            }
        }
        await run.proxy.stop()
        await origin.stop()
    }
}
