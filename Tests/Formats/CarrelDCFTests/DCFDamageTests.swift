// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelTesting
import Testing

struct `Damaged DCF files` {
    /// Reads all there is to read.
    @discardableResult
    private func readAll(_ bytes: [UInt8]) -> Malformed? {
        fault {
            let reader = BytesReader(bytes)
            for object in try DCFFile(reader).objects {
                let clear = try ClearPayloadReader(object.payload, of: reader, key: testKey)
                var count: Int64 = 0
                try clear.forEachPiece { count += Int64($0.byteCount) }
                guard count == clear.length else { throw Malformed("pieces are missing", at: 0) }
            }
        }
    }

    private var samples: [[UInt8]] {
        get throws {
            let rights = DCFMutableInformation(rights: [content(40)], transactionID: content(16))
            return [
                try smallDCF(.cbc, content(40), rights: rights), try smallDCF(.counter, content(40)),
                try smallDCF(.none, content(40)),
                try smallDCF(.cbc, []),
            ]
        }
    }

    @Test func `are refused when cut off at any length`() throws {
        for bytes in try samples {
            #expect(readAll(bytes) == nil)
            let end = try #require(try DCFFile(BytesReader(bytes)).objects.last).payload
            for length in 0..<bytes.count {
                let error = readAll(Array(bytes[..<length]))
                // a file that ends after its object is complete
                if Int64(length) == end.start + end.encryptedLength { continue }
                #expect(error != nil, "\(length)")
                #expect(error.map { $0.offset <= length } == true, "\(length)")
            }
        }
    }

    @Test func `never trap, whatever is changed in them`() throws {
        var random = SplitMix(seed: 16)
        for bytes in try samples {
            for at in bytes.indices {
                for value: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
                    var changed = bytes
                    changed[at] = value
                    readAll(changed)
                }
            }
            for _ in 0..<2000 {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    changed[Int.random(in: changed.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
                if Bool.random(using: &random) { changed.removeLast(Int.random(in: 0..<changed.count, using: &random)) }
                readAll(changed)
            }
        }
    }

    /// A file with these bytes at an offset from the first place of a box type.
    private func changed(_ type: String, _ offset: Int, _ new: [UInt8], _ cipher: DCFCipher = .cbc) throws -> [UInt8] {
        var bytes = try smallDCF(cipher, content(40), rights: DCFMutableInformation(rights: [[1]]))
        let at = try #require(bytes.indices.first { bytes[$0...].starts(with: Array(type.utf8)) })
        bytes.replaceSubrange(at + offset..<at + offset + new.count, with: new)
        return bytes
    }

    @Test(
        arguments: [
            ("odrm", 4, [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "box odrm reaches past the end of the file"),
            ("odrm", 4, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "box odrm reaches past the end of the file"),
            ("odrm", 4, [0, 0, 0, 0, 0, 0, 0, 15], "box odrm is smaller than its header"),
            ("odrm", 4, [0, 0, 0, 0, 0, 0, 0, 16], "object is cut off"),
            ("odrm", 4, [0, 0, 0, 0, 0, 0, 0, 20], "object has no headers"),
            ("odrm", 0, [0x66], "file has no objects"),
            ("odhe", 0, [0x66], "data come before the headers"),
            ("odda", 0, [0x66], "object has no data"),
            ("odda", 4, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "box odda reaches past its parent"),
            ("odda", 12, [1], "data have an unknown version"),
            ("odda", 16, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "data length is not that of the box"),
            ("odda", 16, [0, 0, 0, 0, 0, 0, 0, 63], "data length is not that of the box"),
            ("ohdr", 4, [1], "headers have an unknown version"),
            ("ohdr", 8, [3], "encryption method 3 is unknown"),
            ("ohdr", 9, [2], "padding 2 is unknown"),
            ("ohdr", 10, [0xff], "plaintext length is negative"),
            ("ohdr", 10, [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "plaintext length is longer than the data"),
            ("ohdr", 10, [0, 0, 0, 0, 0, 0, 0, 31], "plaintext length does not fit the data"),
            ("ohdr", 10, [0, 0, 0, 0, 0, 0, 0, 48], "plaintext length does not fit the data"),
            ("ohdr", 18, [0xff, 0xff], "content id is cut off"),
            ("ohdr", 24, [0xff], "content id is not text"),
            ("ohdr", -4, [0, 0, 0, 7], "box ohdr is smaller than its header"),
            ("ohdr", -4, [0, 0, 4, 0], "box ohdr reaches past its parent"),
            ("odrb", -4, [0, 0, 0, 100], "box odrb reaches past its parent"),
            ("ftyp", 4, Array("isom".utf8) + [0, 0, 0, 2] + Array("isom".utf8), "not a DCF"),
            ("ftyp", 0, Array("moov".utf8), "not a DCF"),
        ] as [(String, Int, [UInt8], String)]
    )
    func `are refused with the fault`(type: String, offset: Int, new: [UInt8], what: String) throws {
        #expect(readAll(try changed(type, offset, new))?.what == what)
    }

    @Test func `are refused when boxes that exist once are repeated`() throws {
        let bytes = try smallDCF(.none, [], rights: DCFMutableInformation())
        let rights = Array(bytes.suffix(8))
        #expect(readAll(bytes + rights)?.what == "there are two boxes mdri")
        #expect(readAll(bytes + bytes)?.what == "there are two file types")
    }

    @Test func `are scanned by a reader that names the bytes it wants`() throws {
        let bytes = try smallDCF(.cbc, content(100_000), rights: DCFMutableInformation(rights: [content(10)]))
        var scan = DCFScan(length: Int64(bytes.count))
        var total = 0
        while let range = scan.wanted {
            total += range.count
            #expect(fault { _ = try scan.finish() }?.what == "file ended early")
            // fewer bytes than wanted are refused
            var copy = scan
            #expect(
                fault { try copy.take(bytes.rawSpan.extracting(Int(range.lowerBound)..<Int(range.upperBound) - 1)) }?.what
                    == "file ended early"
            )
            try scan.take(bytes.rawSpan.extracting(Int(range.lowerBound)..<Int(range.upperBound)))
        }
        #expect(try scan.finish() == DCFFile(BytesReader(bytes)))
        // the payload is not read
        #expect(total < 1000)
    }

    @Test func `may be as long as numbers go`() throws {
        let left: Int64 = 8
        let box: [UInt8] = [0, 0, 0, 20] + Array("ftyp".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]
        let brands: [UInt8] = Array("odcf".utf8) + [0, 0, 0, 2] + Array("odcf".utf8)
        let size = UInt64(Int64.max - 20 - left)
        let long: [UInt8] = [0, 0, 0, 1] + Array("free".utf8) + withBigEndian(size)
        var scan = DCFScan(length: .max)
        for bytes in [box, brands, long] { try scan.take(bytes.rawSpan) }
        #expect(scan.wanted == .max - left..<Int64.max)
    }

    private func withBigEndian(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        return bytes
    }

    @Test func `hold a limited number of objects and boxes`() throws {
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 0, low: 0) }
        for _ in 0..<1001 {
            try writer.write(BytesReader([]), contentType: "", DCFHeaders(cipher: .none, contentID: ""), key: nil)
        }
        #expect(readAll(try writer.finish().bytes)?.what == "too many objects")
        let empty: [UInt8] = [0, 0, 0, 8] + Array("free".utf8)
        let many = try smallDCF(.none, []) + (0..<10_000).flatMap { _ in empty }
        #expect(readAll(many)?.what == "too many boxes")
    }
}

struct `A payload whose length only its padding shows` {
    private func encrypted(_ clear: [UInt8], iv: AESBlock) throws -> [UInt8] {
        let padding = 16 - clear.count % 16
        var bytes = clear + [UInt8](repeating: UInt8(padding), count: padding)
        var stream = try AESStream(.chainedEncrypt, key: testKey)
        stream.start(iv)
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        stream.apply(to: &raw, in: 0..<raw.byteCount)
        return bytes
    }

    @Test(arguments: [0, 1, 15, 16, 17, 32, 40, 48])
    func `is measured by its last block`(count: Int) throws {
        let iv = AESBlock(high: 3, low: 4)
        let bytes = [9, 9, 9] + (try encrypted(content(count), iv: iv))
        let reader = BytesReader(bytes)
        let payload = try EncryptedPayload(
            .cbc,
            start: 3,
            encryptedLength: Int64(bytes.count - 3),
            iv: iv,
            isPadded: true,
            clearLength: nil
        )
        #expect(payload.clearLength == nil)
        let clear = try ClearPayloadReader(payload, of: reader, key: testKey)
        #expect(clear.length == Int64(count))
        for from in 0...count { #expect(try clear.read(Int64(from)..<Int64(count)) == Array(content(count)[from...])) }
        let other = Secret([UInt8](repeating: 1, count: 16))
        #expect(
            fault { _ = try ClearPayloadReader(payload, of: reader, key: other) }?.what
                == "padding is wrong (another key, or altered bytes)"
        )
    }

    @Test func `is refused when it is not whole blocks, or empty`() {
        let iv = AESBlock(high: 0, low: 0)
        for length: Int64 in [0, 1, 15, 17, -16, .max] {
            #expect(
                fault {
                    _ = try EncryptedPayload(.cbc, start: 0, encryptedLength: length, iv: iv, isPadded: true, clearLength: nil)
                } != nil
            )
        }
        #expect(
            fault {
                _ = try EncryptedPayload(.counter, start: 2, encryptedLength: .max, iv: iv, isPadded: false, clearLength: nil)
            } != nil
        )
    }
}

struct `An encrypted payload` {
    @Test(arguments: [0, 15, 17, 24, 32], [DCFCipher.cbc, .counter])
    func `is refused under a key that is not one of AES-128`(length: Int, cipher: DCFCipher) throws {
        let key = Secret([UInt8](repeating: 1, count: length))
        var payload = try EncryptedPayload(
            cipher,
            start: 0,
            encryptedLength: 64,
            iv: AESBlock(high: 0, low: 0),
            isPadded: cipher == .cbc,
            clearLength: 60
        )
        let range = payload.range(holding: 0..<20)
        #expect(throws: CryptoError(.keyLength, "")) {
            _ = try payload.decrypt([UInt8](repeating: 7, count: range.count), holding: 0..<20, key: key)
        }
        guard cipher == .cbc else { return }
        payload = try EncryptedPayload(
            cipher,
            start: 0,
            encryptedLength: 64,
            iv: AESBlock(high: 0, low: 0),
            isPadded: true,
            clearLength: nil
        )
        #expect(throws: CryptoError(.keyLength, "")) { try payload.measure([UInt8](repeating: 7, count: 32), key: key) }
    }
}
