// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelTesting
import Testing

struct `Samples that are encrypted as a whole` {
    /// All samples of a track in decode order, decrypted.
    private func clear(_ file: MP4File, _ id: UInt32, _ protection: SampleProtection, _ key: Secret) throws -> [UInt8] {
        let track = try #require(file.tracks.first { $0.id == id })
        var decrypter = try protection.decrypter(key: key)
        var samples = file.samples(of: track)
        var all: [UInt8] = []
        while let run = try samples.nextRun(limit: 1 << 16) {
            var bytes = try file.reader.readAll(run.range)
            var ranges: [Range<Int>] = []
            do {
                var span = bytes.mutableSpan
                var raw = unsafe span.mutableBytes
                var at = 0
                for size in run.sizes {
                    ranges.append(try decrypter.decrypt(&raw, sample: at..<at + size))
                    at += size
                }
            }
            for range in ranges { all += bytes[range] }
        }
        return all
    }

    @Test(arguments: ["dcf/av.pdcf-cbc.mp4", "dcf/av.pdcf-ctr.mp4", "isma/av.isma-iaec.mp4"])
    func `decrypt to their clear source`(name: String) throws {
        let oracle = try Oracles.media(name)
        let file = try MP4File(BytesReader(try oracle.bytes))
        let protections = try ProtectedEntries.all(file)
        #expect(protections.keys.sorted() == [1, 2])
        for (id, kind) in [(UInt32(1), "v"), (2, "a")] {
            let protection = try protections.sampleProtection(id)
            #expect(protection.groupID == nil)
            switch protection {
            case .pdcf(let track):
                #expect(track.sampleHeader == SampleHeader(isSelective: true, keyIndicatorLength: 0, ivLength: 16))
                #expect(track.headers.rightsIssuer == "http://ri.example/\(kind == "v" ? "video" : "audio")")
                #expect(protection.contentID == "cid:shared-\(kind == "v" ? "video" : "audio")@content.example")
            case .isma(let track):
                #expect(track.sampleHeader == SampleHeader(isSelective: false, keyIndicatorLength: 0, ivLength: 8))
                #expect(track.keyManagement == "http://kms.example")
                #expect(track.salt == 0x08b5_c9a2_7c66_41d0)
                #expect(protection.contentID == nil)
            case .marlin: Issue.record("not a Marlin file")
            }
            let samples = try clear(file, id, protection, oracle.key(id: "\(id)"))
            #expect(sha256(samples) == (try oracle.samples(kind)))
        }
    }

    @Test(arguments: ["av.acbc.mp4", "av.acgk.mp4"])
    func `of Marlin decrypt to their clear source, with the content key and with the group key`(name: String) throws {
        let oracle = try Oracles.media("marlin/\(name)")
        let file = try MP4File(BytesReader(try oracle.bytes))
        #expect(MarlinTracks.isMarlin(file))
        let protections = try MarlinTracks.protections(of: file)
        #expect(protections.keys.sorted() == [1, 2])
        for (id, kind) in [(UInt32(1), "v"), (2, "a")] {
            let protection = SampleProtection.marlin(try #require(protections[id]))
            #expect(protection.contentID == "urn:marlin:organization:test:cid:\(kind == "v" ? "video" : "audio")")
            let key = try oracle.key(id: "\(id)")
            if name == "av.acgk.mp4" {
                #expect(protection.groupID == "")
                #expect(try protection.contentKey(under: oracle.key("group_key")) == key)
                #expect(throws: CryptoError(.integrity)) { try protection.contentKey(under: key) }
            } else {
                #expect(protection.groupID == nil)
                #expect(throws: CryptoError(.key)) { try protection.contentKey(under: key) }
            }
            #expect(sha256(try clear(file, id, protection, key)) == (try oracle.samples(kind)))
            // the signed attributes show another key
            #expect(throws: CryptoError(.integrity)) { _ = try protection.decrypter(key: oracle.key(id: id == 1 ? "2" : "1")) }
        }
    }

    @Test func `of PDCF show another key by their padding`() throws {
        let oracle = try Oracles.media("dcf/av.pdcf-cbc.mp4")
        let file = try MP4File(BytesReader(try oracle.bytes))
        let protection = try ProtectedEntries.all(file).sampleProtection(1)
        let wrong = try #require(fault { _ = try clear(file, 1, protection, oracle.key(id: "2")) })
        #expect(wrong.what == "padding is wrong (another key, or altered bytes)")
    }

    @Test func `that are selective may be in the clear`() throws {
        let oracle = try Oracles.media("dcf/av.pdcf-cbc.mp4")
        let file = try MP4File(BytesReader(try oracle.bytes))
        let protection = try ProtectedEntries.all(file).sampleProtection(1)
        var decrypter = try protection.decrypter(key: oracle.key(id: "1"))
        var bytes: [UInt8] = [9, 9, 0, 1, 2, 3]
        let range: Range<Int>
        do {
            var span = bytes.mutableSpan
            var raw = unsafe span.mutableBytes
            range = try decrypter.decrypt(&raw, sample: 2..<6)
        }
        #expect(Array(bytes[range]) == [1, 2, 3])
    }

    @Test func `are refused when they are shorter than their header, or not whole blocks`() throws {
        let cases: [(String, [(Int, String?)])] = [
            (
                "dcf/av.pdcf-cbc.mp4",
                [
                    (0, "sample has no header"), (16, "sample is shorter than its header"),
                    (17, "sample does not end with a whole block"), (32, "sample does not end with a whole block"),
                ]
            ),
            (
                "dcf/av.pdcf-ctr.mp4",
                [(0, "sample has no header"), (16, "sample is shorter than its header"), (17, nil), (40, nil)]
            ),
            (
                "isma/av.isma-iaec.mp4",
                [(0, "sample is shorter than its header"), (7, "sample is shorter than its header"), (8, nil), (9, nil)]
            ),
        ]
        for (name, lengths) in cases {
            let oracle = try Oracles.media(name)
            let file = try MP4File(BytesReader(try oracle.bytes))
            let protection = try ProtectedEntries.all(file).sampleProtection(1)
            for (length, what) in lengths {
                var decrypter = try protection.decrypter(key: oracle.key(id: "1"))
                var bytes = [UInt8](repeating: 0x80, count: length)
                let found = fault {
                    var span = bytes.mutableSpan
                    var raw = unsafe span.mutableBytes
                    _ = try decrypter.decrypt(&raw, sample: 0..<length)
                }
                #expect(found?.what == what, "\(name) \(length)")
            }
        }
    }

    @Test func `of ISMACryp begin inside a block of key stream`() throws {
        let file = try MP4File(BytesReader(try Oracles.media("isma/av.isma-iaec.mp4").bytes))
        let protection = try ProtectedEntries.all(file).sampleProtection(1)
        let key = Secret([UInt8](0..<16))
        /// `count` zeros whose key stream begins at a byte offset.
        func stream(_ offset: UInt64, _ count: Int) throws -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: offset)
            bytes += [UInt8](repeating: 0, count: count)
            var decrypter = try protection.decrypter(key: key)
            var span = bytes.mutableSpan
            var raw = unsafe span.mutableBytes
            let range = try decrypter.decrypt(&raw, sample: 0..<8 + count)
            return Array(bytes[range])
        }
        let whole = try stream(0, 100)
        for offset in 0..<50 {
            for count in [0, 1, 5, 16, 17, 40] {
                #expect(try stream(UInt64(offset), count) == Array(whole[offset..<offset + count]))
            }
        }
        // the counter wraps
        #expect(try stream(UInt64.max - 7, 24).count == 24)
    }
}
