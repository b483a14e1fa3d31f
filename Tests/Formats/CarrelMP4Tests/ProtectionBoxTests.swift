// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMP4
import CarrelTesting
import Testing

struct `Boxes of protection` {
    private static let keyID = Array(0...15) as [UInt8]

    /// The content of a `tenc` box.
    private static func content(_ version: UInt8, _ pattern: UInt8, _ isProtected: UInt8, _ ivSize: UInt8, _ more: [UInt8] = [])
        -> [UInt8]
    {
        [version, 0, 0, 0, 0, pattern, isProtected, ivSize] + keyID + more
    }

    @Test func `say how a track is encrypted`() throws {
        let plain = Self.content(0, 0x19, 1, 8)
        let track = try TrackEncryption(tenc: plain.rawSpan)
        // version 0 has no patterns
        #expect(track.isProtected && track.ivSize == 8 && track.constantIV == nil && track.pattern == .whole)
        #expect(track.keyID.bytes == Self.keyID)
        let pattern = Self.content(1, 0x19, 1, 16)
        #expect(try TrackEncryption(tenc: pattern.rawSpan).pattern == BlockPattern(crypt: 1, skip: 9))
        let long = Self.content(1, 0, 1, 0, [16] + (1...16))
        #expect(try TrackEncryption(tenc: long.rawSpan).constantIV?.bytes == Array(1...16))
        let short = Self.content(1, 0, 1, 0, [8] + (1...8))
        #expect(try TrackEncryption(tenc: short.rawSpan).constantIV?.bytes == Array(1...8) + [UInt8](repeating: 0, count: 8))
        let clear = Self.content(0, 0, 0, 0)
        #expect(try !TrackEncryption(tenc: clear.rawSpan).isProtected)
    }

    @Test(
        arguments: [
            (content(0, 0, 1, 5), "initialization vectors of 5 bytes", 7),
            (content(1, 0, 1, 0, [5] + (1...5)), "constant initialization vector of 5 bytes", 24),
            (content(1, 0, 1, 0, [0]), "constant initialization vector of 0 bytes", 24),
            (content(1, 0, 1, 0, [16] + (1...15)), "constant initialization vector is cut off", 25),
        ] as [([UInt8], String, Int)]
    )
    func `are refused with what is wrong, and where`(bytes: [UInt8], what: String, offset: Int) {
        let error = #expect(throws: Malformed.self) { try TrackEncryption(tenc: bytes.rawSpan) }
        #expect(error?.what == what && error?.offset == offset)
    }

    @Test func `are refused when they are cut off anywhere`() {
        let bytes = Self.content(1, 0, 1, 0, [16] + (1...16))
        for length in 0..<bytes.count {
            let cut = Array(bytes.prefix(length))
            #expect(throws: Malformed.self) { try TrackEncryption(tenc: cut.rawSpan) }
        }
    }

    @Test func `name a system, its keys and its data`() throws {
        let system = ProtectionSystemHeader.clearKey
        for (version, keys) in [(0, 0), (1, 2)] as [(UInt8, Int)] {
            var content = [version, 0, 0, 0] + system
            if version == 1 { content += [0, 0, 0, UInt8(keys)] + Self.keyID + Self.keyID.reversed() }
            content += [0, 0, 0, 3, 7, 8, 9]
            let read = ProtectionSystemHeader("pssh", content.rawSpan)
            let header = try #require(read)
            #expect(header.system == system && header.data == [7, 8, 9] && header.name == "ClearKey")
            #expect(header.keyIDs.map(\.bytes) == Array([Self.keyID, Self.keyID.reversed()].prefix(keys)))
            var writer = BoxWriter()
            header.write(to: &writer)
            #expect(Array(writer.bytes.dropFirst(8)) == content)
            for length in 0..<content.count {
                let cut = Array(content.prefix(length))
                #expect(ProtectionSystemHeader("pssh", cut.rawSpan) == nil)
            }
            let piff = (Hex.decode("d08a4f1810f34a82b6c832d8aba183d3") ?? []) + content
            #expect(ProtectionSystemHeader("uuid", piff.rawSpan) == header)
        }
        // more keys than bytes
        let lie = [1, 0, 0, 0] + system + [255, 255, 255, 255] + Self.keyID
        #expect(ProtectionSystemHeader("pssh", lie.rawSpan) == nil)
    }

    @Test func `are read as other programs wrote them, and refused if they lie`() throws {
        let file = try Fixtures.bytes("drm/clearkey/pssh-samples.json")
        let samples = try #require(try JSON.parse(file.rawSpan).array)
        var refused = 0
        for sample in samples {
            let name = sample["name"]?.string ?? ""
            let box = try #require(sample["base64"]?.string.flatMap { Base64.decode($0) })
            let content = Array(box.dropFirst(8))
            let header = ProtectionSystemHeader("pssh", content.rawSpan)
            guard sample["error"] == nil else {
                #expect(header == nil, "\(name)")
                refused += 1
                continue
            }
            let system = sample["system_id"]?.string?.replacing("-", with: "")
            #expect(header.map { Hex.encode($0.system) } == system, "\(name)")
            #expect(header?.keyIDs.map { Hex.encode($0.bytes) } == sample["kids_hex"]?.array?.compactMap(\.string), "\(name)")
            #expect(header?.data == sample["data_base64"]?.string.flatMap { Base64.decode($0) }, "\(name)")
            var writer = BoxWriter()
            header?.write(to: &writer)
            #expect(writer.bytes == box, "\(name)")
        }
        #expect(refused == 2 && samples.count > 4)
    }
}
