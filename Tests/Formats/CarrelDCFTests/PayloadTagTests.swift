// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelTesting
import Testing

private let block = Int(PayloadTags.blockLength)

/// A DCF with tags.
func taggedDCF(_ cipher: DCFCipher, _ clear: [UInt8], iv: AESBlock = AESBlock(high: 0x0102, low: .max - 3)) throws -> [UInt8] {
    var writer = try DCFWriter(DCFMemorySink()) { iv }
    let headers = DCFHeaders(cipher: cipher, contentID: "cid:one@example", rightsIssuer: "https://ri.example/")
    try writer.write(BytesReader(clear), contentType: "text/plain", headers, key: testKey, isTagged: true)
    return try writer.finish(nil).bytes
}

/// Checks all blocks of a file together, and each alone.
private func check(_ bytes: [UInt8], key: Secret = testKey) throws {
    let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
    let table = try #require(object.tags)
    func part(_ range: Range<Int64>) -> [UInt8] { Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]) }
    let check = PayloadTagCheck(object.payload, key: key, headDigest: SHA256.hash(part(table.head).rawSpan))
    let all = 0..<check.blockCount
    let (data, tags) = (part(check.range(of: all)), part(table.range(of: all)))
    try check.verify(all, data.rawSpan, tags: tags.rawSpan)
    for index in all {
        let (data, tags) = (part(check.range(of: index..<index + 1)), part(table.range(of: index..<index + 1)))
        try check.verify(index..<index + 1, data.rawSpan, tags: tags.rawSpan)
    }
}

struct `Tags of an object` {
    @Test(arguments: [DCFCipher.cbc, .counter], [0, 1, 16, 65519, 65520, 65535, 65536, 65537, 131_072, 200_000])
    func `are right for what was written`(cipher: DCFCipher, count: Int) throws {
        let bytes = try taggedDCF(cipher, content(count))
        try check(bytes)
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        #expect(object.tags?.count == PayloadTags.blockCount(of: object.payload.encryptedLength))
        let plain = try smallDCF(cipher, content(count))
        let untagged = try #require(try DCFFile(BytesReader(plain)).objects.first)
        #expect(untagged.tags == nil)
        let clear = try ClearPayloadReader(object.payload, of: BytesReader(bytes), key: testKey)
        #expect(try clear.read(0..<Int64(count)) == content(count))
        // the ranges for any clear bytes contain what their decryption reads
        let check = PayloadTagCheck(object.payload, key: testKey, headDigest: [])
        for place in stride(from: 0, to: Int64(count), by: 4099) {
            let clear = place..<min(Int64(count), place + 70_000)
            let whole = check.range(of: check.blocks(holding: clear))
            #expect(whole.clamped(to: object.payload.range(holding: clear)) == object.payload.range(holding: clear))
        }
    }

    @Test func `are checked in the block of the padding too, without which nothing is cut`() throws {
        let bytes = try taggedDCF(.cbc, content(block))
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        let check = PayloadTagCheck(object.payload, key: testKey, headDigest: [])
        let clear = 0..<Int64(block)
        #expect(check.blocks(holding: clear) == 0..<2 && check.blocks(holding: 0..<1) == 0..<1)
        var whole = content(block + 16)
        try check.trim(&whole, of: 0..<2, to: clear)
        #expect(whole.count == block + 16)
        for blocks: Range<Int64> in [0..<1, 1..<2] {
            var cut = content(check.range(of: blocks).count)
            let error = #expect(throws: DCFError.self) { try check.trim(&cut, of: blocks, to: clear) }
            #expect(error?.code == .integrity)
        }
    }

    @Test(arguments: [DCFCipher.cbc, .counter])
    func `do not depend on the pieces of the ciphertext`(cipher: DCFCipher) throws {
        let ciphertext = content(150_000)
        let head: [UInt8] = [1, 2, 3]
        func tags(_ piece: Int) throws -> [UInt8] {
            var tagger = try PayloadTagger(
                key: testKey,
                iv: AESBlock(high: 1, low: 2),
                cipher: cipher,
                head: head.rawSpan,
                encryptedLength: 150_000
            )
            var at = 0
            while at < ciphertext.count {
                let end = min(ciphertext.count, at + piece)
                tagger.append(ciphertext.rawSpan.extracting(at..<end))
                at = end
            }
            return tagger.finish()
        }
        let whole = try tags(150_000)
        #expect(whole.count == 3 * 16)
        for piece in [1, 7, 15, 16, 17, block - 1, block, block + 1] { #expect(try tags(piece) == whole) }
    }

    @Test(arguments: [DCFCipher.cbc, .counter])
    func `show every change`(cipher: DCFCipher) throws {
        let bytes = try taggedDCF(cipher, content(200_000))
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        let table = try #require(object.tags)
        let start = Int(object.payload.start)
        // the content type, the vector, each block, each tag
        var places: [Int] = [Int(object.start) + 40, start - 16, start - 1, bytes.count - 1]
        for index in 0..<4 { places += [start + index * block, start + index * block + 3000, Int(table.start) + index * 16 + 5] }
        for place in places {
            var changed = bytes
            changed[place] ^= 0x20
            #expect(throws: DCFError.self, "byte \(place)") { try check(changed) }
        }
        // two blocks with their tags change places
        var moved = bytes
        for offset in 0..<block { moved.swapAt(start + offset, start + block + offset) }
        for offset in 0..<16 { moved.swapAt(Int(table.start) + offset, Int(table.start) + 16 + offset) }
        #expect(throws: DCFError.self) { try check(moved) }
        #expect(throws: DCFError.self) { try check(bytes, key: Secret([UInt8](repeating: 3, count: 16))) }
    }

    @Test func `show that the last blocks are missing`() throws {
        let whole = try taggedDCF(.counter, content(200_000))
        let object = try #require(try DCFFile(BytesReader(whole)).objects.first)
        let table = try #require(object.tags)
        // the file of the first two blocks, with right lengths and the tags of the longer one
        var short = try taggedDCF(.counter, Array(content(200_000).prefix(2 * block)))
        let shortTable = try #require(try DCFFile(BytesReader(short)).objects.first?.tags)
        for offset in 0..<32 { short[Int(shortTable.start) + offset] = whole[Int(table.start) + offset] }
        #expect(throws: DCFError.self) { try check(short) }
    }

    @Test(arguments: [(16, "version"), (20, "another length"), (31, "number of tags"), (7, nil)])
    func `are refused in a box that is malformed`(offset: Int, words: String?) throws {
        var bytes = try taggedDCF(.counter, content(100))
        let table = try #require(try DCFFile(BytesReader(bytes)).objects.first?.tags)
        bytes[Int(table.start) - 32 + offset] ^= 1
        guard let words else {
            // another extended type is another box
            #expect(try DCFFile(BytesReader(bytes)).objects.first?.tags == nil)
            return
        }
        let error = #expect(throws: Malformed.self) { try DCFFile(BytesReader(bytes)) }
        #expect(error?.what.contains(words) == true)
    }

    @Test func `are only read directly after their object`() throws {
        let bytes = try taggedDCF(.counter, content(100))
        let table = try #require(try DCFFile(BytesReader(bytes)).objects.first?.tags)
        var apart = bytes
        apart.insert(contentsOf: [0, 0, 0, 8] + Array("free".utf8), at: Int(table.start) - 48)
        let object = try #require(try DCFFile(BytesReader(apart)).objects.first)
        #expect(object.tags == nil)
        #expect(throws: Malformed.self) { try DCFFile(BytesReader(bytes.dropLast())) }
    }

    /// The corpus was written by other code, with python3-cryptography.
    @Test(arguments: ["cbc-small", "ctr-small", "cbc-empty", "ctr-empty", "cbc-two", "ctr-two"])
    func `of other code are right here`(name: String) throws {
        let path = "\(Repository.path)/Fuzz/PayloadTagFuzz/corpus/\(name)"
        let bytes = try #require(Fixtures.bytes(at: path))
        try check(bytes)
        let object = try #require(try DCFFile(BytesReader(bytes)).objects.first)
        let clear = try ClearPayloadReader(object.payload, of: BytesReader(bytes), key: testKey, tags: object.tags)
        #expect(try clear.read(0..<clear.length) == content(Int(clear.length)))
    }

    @Test func `need the length of the content in advance`() throws {
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 1, low: 2) }
        let error = #expect(throws: DCFError.self) {
            try writer.begin(
                contentType: "text/plain",
                DCFHeaders(cipher: .counter, contentID: "cid:1"),
                length: nil,
                key: testKey,
                isTagged: true
            )
        }
        #expect(error?.code == .length)
        _ = consume writer
    }
}
