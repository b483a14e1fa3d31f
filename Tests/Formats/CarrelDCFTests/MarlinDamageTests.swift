// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelTesting
import Testing

struct `Damaged Marlin files` {
    @discardableResult
    private func read(_ bytes: [UInt8]) -> Malformed? {
        fault {
            let file = try MP4File(BytesReader(bytes))
            for (_, protection) in try MarlinTracks.protections(of: file) {
                _ = try? SampleProtection.marlin(protection).decrypter(key: testKey)
                _ = try? SampleProtection.marlin(protection).contentKey(under: testKey)
            }
        }
    }

    @Test func `are read when they are not`() throws {
        let builder = MarlinBuilder()
        let found = try MarlinTracks.protections(of: MP4File(BytesReader(try builder.file())))
        #expect(found.keys.sorted() == [2])
        let protection = SampleProtection.marlin(try #require(found[2]))
        #expect(protection.contentID == builder.contentID)
        #expect(try protection.contentKey(under: builder.groupKey) == testKey)
        // a sample of two blocks: content, padding
        var clear = content(20) + [UInt8](repeating: 12, count: 12)
        let iv = AESBlock(high: 1, low: 2)
        var cipher = try AESStream(.chainedEncrypt, key: testKey)
        cipher.start(iv)
        do {
            var span = clear.mutableSpan
            var raw = unsafe span.mutableBytes
            cipher.apply(to: &raw, in: 0..<32)
        }
        var sample = iv.bytes + clear
        var decrypter = try protection.decrypter(key: testKey)
        let range: Range<Int>
        do {
            var span = sample.mutableSpan
            var raw = unsafe span.mutableBytes
            range = try decrypter.decrypt(&raw, sample: 0..<48)
        }
        #expect(Array(sample[range]) == content(20))
    }

    @Test func `are clear when they name no descriptors of Marlin`() throws {
        var builder = MarlinBuilder()
        builder.descriptorType = 0xa552
        #expect(try MarlinTracks.protections(of: MP4File(BytesReader(try builder.file()))).isEmpty)
    }

    @Test func `are refused with the fault`() throws {
        func what(_ change: (inout MarlinBuilder) -> Void) throws -> String? {
            var builder = MarlinBuilder()
            change(&builder)
            return read(try builder.file())?.what
        }
        #expect(try what { _ in } == nil)
        #expect(try what { $0.scheme = "cenc" } == "scheme cenc is unknown")
        #expect(try what { $0.contentID = "" } == "descriptor has no content id")
        #expect(try what { $0.hasWrappedKey = false } == "wrapped key and scheme contradict each other")
        #expect(
            try what {
                $0.scheme = "ACBC"; $0.hasWrappedKey = true
            } == "wrapped key and scheme contradict each other"
        )
        #expect(try what { $0.reference = 0 } == "object descriptor names track 0 of 1")
        #expect(try what { $0.reference = 2 } == "object descriptor names track 2 of 1")
        #expect(try what { $0.objectTrackID = 9 } == "track 9 of object descriptors is missing")
        #expect(try what { $0.objectTrackID = 2 } == "track 2 of object descriptors names no tracks")
        #expect(try what { $0.authenticator = [1, 2] } == "authenticator does not have 32 bytes")
        #expect(try what { $0.sampleSize = 30 } == "descriptor is cut off")
        let tooLong = try what { $0.sampleSize = 2 << 20 }
        #expect(tooLong == "more samples than the file can hold")
    }

    @Test func `are refused when cut off at any length, and never trap`() throws {
        var random = SplitMix(seed: 17)
        let bytes = try MarlinBuilder().file()
        for length in bytes.indices { #expect(read(Array(bytes[..<length])) != nil, "\(length)") }
        for at in bytes.indices {
            for value: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
                var changed = bytes
                changed[at] = value
                read(changed)
            }
        }
        for _ in 0..<2000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                changed[Int.random(in: changed.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            read(changed)
        }
    }
}

struct `Damaged information of a scheme` {
    private func information(_ name: String) throws -> (String, [UInt8]) {
        let file = try MP4File(BytesReader(try Fixtures.bytes("media/\(name)")))
        let protection = try #require(try ProtectedEntries.all(file)[1])
        return (protection.scheme, protection.schemeInformation)
    }

    @discardableResult
    private func read(_ scheme: String, _ information: [UInt8]) -> Malformed? {
        fault {
            guard let protection = try SampleProtection(MP4Protection(scheme: scheme, schemeInformation: information)) else {
                throw Malformed("scheme is unknown", at: 0)
            }
            var decrypter = try protection.decrypter(key: testKey)
            for count in [0, 1, 8, 16, 17, 33, 49, 500] {
                var bytes = [UInt8](repeating: 0xff, count: count)
                var span = bytes.mutableSpan
                var raw = unsafe span.mutableBytes
                _ = try? decrypter.decrypt(&raw, sample: 0..<count)
            }
        }
    }

    @Test(arguments: ["dcf/av.pdcf-cbc.mp4", "dcf/av.pdcf-ctr.mp4", "isma/av.isma-iaec.mp4"])
    func `is refused when cut off at any length, and never traps`(name: String) throws {
        let (scheme, bytes) = try information(name)
        #expect(read(scheme, bytes) == nil)
        // ISMACryp is whole without its salt
        for length in bytes.indices where !(scheme == "iAEC" && length == bytes.count - 16) {
            #expect(read(scheme, Array(bytes[..<length])) != nil, "\(length)")
        }
        for at in bytes.indices {
            for value in 0...255 {
                var changed = bytes
                changed[at] = UInt8(value)
                read(scheme, changed)
            }
        }
        #expect(read("cenc", bytes)?.what == "scheme is unknown")
    }

    @Test func `is refused with the fault`() throws {
        let (scheme, bytes) = try information("isma/av.isma-iaec.mp4")
        let format = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("iSFM".utf8)) })
        var changed = bytes
        changed[format + 10] = 9
        #expect(read(scheme, changed)?.what == "byte offset has 9 bytes instead of 1 to 8")
        changed[format] = 0x66
        #expect(read(scheme, changed)?.what == "track has no box iSFM")
        let (pdcf, headers) = try information("dcf/av.pdcf-ctr.mp4")
        let place = try #require(headers.indices.first { headers[$0...].starts(with: Array("odaf".utf8)) })
        var other = headers
        other[place + 10] = 8
        #expect(read(pdcf, other)?.what == "initialization vector has 8 bytes instead of 16")
    }
}
