// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelMP4
package import CarrelMedia

extension ProtectedMovie {
    /// Its keys, by their ids.
    package var keys: GivenKeys {
        var keys = GivenKeys()
        for parameters in keyed { keys.add(Secret(parameters.keyBytes), for: .id(parameters.keyID)) }
        return keys
    }

    /// The contents of the copy of a file: the samples of its first track, concatenated.
    package static func copied(_ bytes: [UInt8], _ keys: GivenKeys) async throws -> (
        samples: [UInt8], file: MP4File, bytes: [UInt8]
    ) {
        let file = try MP4File(BytesReader(bytes))
        var copy = try ClearCopy(file, keys: try await TrackDecrypter.keys(of: file, from: keys))
        var sink = BytesSink()
        try copy.write(to: &sink)
        let clear = try MP4File(BytesReader(sink.bytes))
        var found: [UInt8] = []
        if let track = clear.tracks.first {
            var samples = clear.samples(of: track)
            while let sample = try samples.next() { found += sink.bytes[Int(sample.offset)..<Int(sample.range.upperBound)] }
        }
        return (found, clear, sink.bytes)
    }

    /// The clear samples of the first track of a file, concatenated.
    package static func read(_ bytes: [UInt8], _ keys: GivenKeys) async throws -> [UInt8] {
        let file = try MP4File(BytesReader(bytes))
        let protection = try await FileProtection(file, from: keys)
        guard let track = file.tracks.first else { return [] }
        let reader = try ClearTrackReader(track, of: file, protection)
        var found: [UInt8] = []
        while try reader.next({ _, bytes, range in found.append(copying: bytes.bytes.extracting(range)) }) != nil {}
        return found
    }

    /// The clear stream of fragments that come in pieces of that many bytes, and the samples in it.
    package static func streamed(_ bytes: [UInt8], in pieces: Int, _ keys: GivenKeys) async throws -> (
        samples: [UInt8], bytes: [UInt8]
    ) {
        var fragments = ClearFragments()
        var samples: [UInt8] = []
        var stream: [UInt8] = []
        var at = 0
        while true {
            while let event = try fragments.next() {
                switch event {
                case .movie(let range), .fragment(let range):
                    try await fragments.resolveKeys(from: keys)
                    stream.append(copying: fragments.bytes.extracting(range))
                case .box(_, let range), .data(let range): stream.append(copying: fragments.bytes.extracting(range))
                case .sample(_, _, let range):
                    samples.append(copying: fragments.bytes.extracting(range))
                    stream.append(copying: fragments.bytes.extracting(range))
                }
            }
            guard at < bytes.count else { break }
            let end = min(bytes.count, at + pieces)
            fragments.append(bytes.rawSpan.extracting(at..<end))
            at = end
            if at == bytes.count { fragments.end() }
        }
        return (samples, stream)
    }
}
