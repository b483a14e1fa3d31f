// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `An HLS source with sync pictures` {
    @Test(arguments: `A playlist of sync pictures`.outputs, [CommonEncryptionScheme.cbcs, .cenc])
    func `keeps its playlists of sync pictures, decrypted`(output: PlaylistProxy.Output, scheme: CommonEncryptionScheme)
        async throws
    {
        let package = try await ProtectedPackage { $0.scheme = scheme }
        let run = try `A playlist of sync pictures`.run(output)
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        let address = try #require(try await PictureList.addresses(of: session).first)
        let count = try await PictureList(address).entries.count
        #expect(count > 1)
        try await `A playlist of sync pictures`.expectPictures(session, output, count: count)
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    /// The range of the first picture of a transport stream of pictures alone.
    private static func firstPicture(_ bytes: [UInt8]) throws -> Range<Int> {
        let starts = stride(from: 0, to: bytes.count, by: 188).filter { at in
            // a packet that begins a PES packet of pictures
            let payload = at + 4 + (bytes[at + 3] & 0x20 != 0 ? 1 + Int(bytes[at + 4]) : 0)
            return bytes[at + 1] & 0x40 != 0 && Array(bytes[payload..<payload + 3]) == [0, 0, 1]
                && bytes[payload + 3] & 0xf0 == 0xe0
        }
        return try #require(starts.first)..<(try #require(starts.dropFirst().first))
    }

    @Test(arguments: [nil, TransportScheme.sampleAES], [true, false])
    func `adds their tables to picture lists of transport streams`(scheme: TransportScheme?, hasMap: Bool) async throws {
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = scheme
            options.audioKeys = options.videoKeys
            options.keyURI = "https://keys.example/{kid}"
        }
        var list = "#EXTM3U\n#EXT-X-VERSION:5\n#EXT-X-TARGETDURATION:4\n#EXT-X-I-FRAMES-ONLY\n"
        var count = 0
        for line in try package.text("video-1.m3u8").split(separator: "\n") {
            if line.hasPrefix("#EXT-X-KEY") || line.hasPrefix("#EXTINF") { list += "\(line)\n" }
            guard !line.hasPrefix("#") else { continue }
            let range = try Self.firstPicture(try #require(package.directory.read("out/\(line)")))
            if hasMap { list += "#EXT-X-MAP:URI=\"\(line)\",BYTERANGE=\"\(range.lowerBound)@0\"\n" }
            list += "#EXT-X-BYTERANGE:\(range.count)@\(range.lowerBound)\n\(line)\n"
            count += 1
        }
        package.write("pictures.m3u8", list + "#EXT-X-ENDLIST\n")
        let line = "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,URI=\"pictures.m3u8\"\n"
        package.write("master.m3u8", try package.text("master.m3u8") + line)
        var keys = package.keys
        keys.add(ProtectedPackage.videoKey.key, for: .address("https://keys.example/\(ProtectedPackage.videoKey.id)"))
        let run = try ProxyRun { ($0.rules, $0.policy) = (.rfc, .open) }
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: keys)
        try await `A playlist of sync pictures`.expectPictures(session, .transportStream, count: count)
        #expect(count > 1)
        #expect(run.codes == [])
        await run.proxy.stop()
    }
}
