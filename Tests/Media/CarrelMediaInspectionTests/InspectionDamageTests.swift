// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import CarrelTesting
import Testing

struct `The inspection of damaged media` {
    /// The first bytes of files of each kind: small, as many variants of each are looked at.
    private static let files = [
        "dash/timeline-cenc/v-init.mp4", "dash/timeline-cenc/a-384000.m4s", "dcf/note.cbc.dcf", "hls/mp3-packed-rot-seq100.m3u8",
        "dash/multiperiod-mixed/manifest.mpd", "hls/sample-aes/seg-0.ts", "ext/shaka-player/hls-raw-aac/fileSequence0.aac",
        "src/tone-vbr-xing-id3.mp3",
    ]

    private static func bytes(_ name: String) throws -> [UInt8] { Array(try Fixtures.bytes("media/\(name)").prefix(188 * 100)) }

    /// Looks into bytes; only errors of media are allowed.
    private static func look(_ bytes: [UInt8]) throws {
        do {
            let facts = try MediaInspection.describe(BytesReader(bytes))
            #expect(["mp4", "dcf", "ts", "hls", "dash", "audio"].contains(facts["kind"]?.string))
            #expect(!MediaInspection.text(facts).isEmpty)
        } catch is Malformed {} catch is MediaError {} catch {
            #expect("\(type(of: error))" == "DCFError", "\(error)")
        }
    }

    @Test(arguments: files)
    func `ends with facts or an error at any length`(name: String) throws {
        let bytes = try Self.bytes(name)
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 400)) { try Self.look(Array(bytes.prefix(count))) }
    }

    @Test(arguments: files)
    func `ends with facts or an error whatever bytes change`(name: String) throws {
        let bytes = try Self.bytes(name)
        var random = SplitMix(seed: 16)
        for _ in 0..<400 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            try Self.look(changed)
        }
    }
}
