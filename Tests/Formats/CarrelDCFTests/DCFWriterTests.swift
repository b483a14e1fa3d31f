// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelTesting
import Testing

let testKey = Secret([UInt8](1...16))

/// Bytes that are all different for 251 bytes.
func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

/// A small DCF of our own.
func smallDCF(
    _ cipher: DCFCipher,
    _ clear: [UInt8],
    iv: AESBlock = AESBlock(high: 0x0102, low: 0x0304),
    announced: Bool = true,
    rights: DCFMutableInformation? = nil
) throws -> [UInt8] {
    var writer = try DCFWriter(DCFMemorySink()) { iv }
    let headers = DCFHeaders(
        cipher: cipher,
        contentID: "cid:one@example",
        rightsIssuer: "https://ri.example/",
        textual: [
            DCFTextualHeader("Silent", "on-demand;https://ri.example/silent"),
            DCFTextualHeader("Preview: instant; cid:two@example"),
        ]
    )
    try writer.begin(contentType: "text/plain", headers, length: announced ? Int64(clear.count) : nil, key: testKey)
    try writer.append(clear.rawSpan)
    try writer.end()
    return try writer.finish(rights).bytes
}

struct `A DCF that we write` {
    @Test(arguments: [DCFCipher.none, .cbc, .counter], [0, 1, 15, 16, 17, 31, 32, 33, 1000, 65536, 65537, 200_000])
    func `is read again the same, whether its length was known or not`(cipher: DCFCipher, count: Int) throws {
        let clear = content(count)
        let bytes = try smallDCF(cipher, clear)
        #expect(try smallDCF(cipher, clear, announced: false) == bytes)
        let reader = BytesReader(bytes)
        let file = try DCFFile(reader)
        let object = try #require(file.objects.first)
        #expect(file.objects.count == 1)
        #expect(file.mutableInformation == nil)
        #expect(object.contentType == "text/plain")
        #expect(object.headers.contentID == "cid:one@example")
        #expect(object.headers.rightsIssuer == "https://ri.example/")
        #expect(object.headers.silentAcquisition?.method == "on-demand")
        #expect(object.headers.silentAcquisition?.address == "https://ri.example/silent")
        #expect(object.headers.preview?.method == "instant")
        #expect(object.headers.preview?.address == "cid:two@example")
        #expect(object.headers.clearLength == Int64(count))
        let read = try ClearPayloadReader(object.payload, of: reader, key: cipher == .none ? nil : testKey)
        var whole: [UInt8] = []
        try read.forEachPiece(of: 999) { whole.append(copying: $0) }
        #expect(whole == clear)
        if cipher != .none, count >= 16 { #expect(bytes.suffix(count) != clear[...]) }
    }

    // multi-object.dcf has short sizes, which this writer never has
    @Test(arguments: [
        "media/dcf/epub.cbc", "media/dcf/epub.ctr", "media/dcf/mp3.cbc", "media/dcf/note.cbc", "media/dcf/note.ctr",
        "media/dcf/tiny.cbc",
        "media/dcf/tiny.ctr", "drm/dcf/book-cbc", "drm/dcf/book-ctr", "drm/dcf/book-null",
    ])
    func `has every byte of the same file by others`(name: String) throws {
        let theirs = try Fixtures.bytes("\(name).dcf")
        let digits = name.hasPrefix("drm") ? "166634c675823c235a4a9446fad52e4d" : "4151ee2a6a25190e8d1e9bb2a4f6b640"
        let key = Secret(try #require(Hex.decode(digits)))
        let reader = BytesReader(theirs)
        let file = try DCFFile(reader)
        var ivs = file.objects.filter { $0.headers.cipher != .none }.map(\.payload.iv)
        var writer = try DCFWriter(DCFMemorySink()) { ivs.removeFirst() }
        for object in file.objects {
            let clear = try ClearPayloadReader(object.payload, of: reader, key: key)
            try writer.write(clear, contentType: object.contentType, object.headers, key: key)
        }
        #expect(try writer.finish().bytes == theirs)
    }

    @Test(arguments: [DCFCipher.none, .cbc, .counter])
    func `gives every range of its content`(cipher: DCFCipher) throws {
        let clear = content(67)
        let reader = BytesReader(try smallDCF(cipher, clear))
        let read = try ClearPayloadReader(try #require(try DCFFile(reader).objects.first).payload, of: reader, key: testKey)
        for from in 0...67 {
            for end in from...67 { #expect(try read.read(Int64(from)..<Int64(end)) == Array(clear[from..<end])) }
        }
    }

    @Test(arguments: [DCFCipher.none, .cbc, .counter])
    func `does not depend on the pieces its content comes in`(cipher: DCFCipher) throws {
        let clear = content(100)
        let whole = try smallDCF(cipher, clear)
        for split in 0...100 {
            var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 0x0102, low: 0x0304) }
            let headers = try #require(try DCFFile(BytesReader(whole)).objects.first).headers
            try writer.begin(contentType: "text/plain", headers, length: 100, key: testKey)
            try writer.append(clear.rawSpan.extracting(0..<split))
            try writer.append(clear.rawSpan.extracting(split..<100))
            try writer.end()
            #expect(try writer.finish().bytes == whole)
        }
    }

    @Test func `holds several objects, group keys, user data and rights`() throws {
        var ivs: [UInt64] = []
        let group = Secret([UInt8](repeating: 7, count: 16))
        var writer = try DCFWriter(DCFMemorySink()) {
            ivs.append(UInt64(ivs.count))
            return AESBlock(high: 9, low: UInt64(ivs.count))
        }
        var wrapped = DCFHeaders(cipher: .counter, contentID: "cid:1")
        wrapped.groupKey = try DCFGroupKey(
            wrapping: testKey,
            groupID: "group@example",
            groupKey: group,
            iv: AESBlock(high: 5, low: 6)
        )
        var title = BoxWriter()
        title.fullBox("titl") { writer in
            writer.u16(0x15c7)
            writer.append(Array("Ein Titel\0".utf8))
        }
        try writer.write(BytesReader(content(5000)), contentType: "audio/mpeg", wrapped, userData: title.bytes, key: testKey)
        try writer.write(BytesReader(content(3)), contentType: "", DCFHeaders(cipher: .cbc, contentID: "cid:2"), key: testKey)
        try writer.write(BytesReader([]), contentType: "text/plain", DCFHeaders(cipher: .none, contentID: ""), key: nil)
        var rights = DCFMutableInformation(rights: [content(300), []], transactionID: content(16))
        rights.otherBoxes = [0, 0, 0, 8] + Array("free".utf8)
        let bytes = try writer.finish(rights).bytes
        #expect(ivs.count == 2)
        let reader = BytesReader(bytes)
        let file = try DCFFile(reader)
        #expect(file.objects.map(\.headers.contentID) == ["cid:1", "cid:2", ""])
        #expect(file.objects.map(\.contentType) == ["audio/mpeg", "", "text/plain"])
        #expect(file.mutableInformation == rights)
        #expect(file.objects[0].userData.first?.text == "Ein Titel")
        #expect(
            file.objects[0].headers
                == {
                    var headers = wrapped; headers.clearLength = 5000; return headers
                }()
        )
        let key = try #require(file.objects[0].headers.groupKey).unwrap(under: group)
        #expect(key == testKey)
        #expect(throws: CryptoError(.padding)) { try wrapped.groupKey?.unwrap(under: testKey) }
        let first = try ClearPayloadReader(file.objects[0].payload, of: reader, key: key)
        #expect(try first.readAll(0..<5000) == content(5000))
        let second = try ClearPayloadReader(file.objects[1].payload, of: reader, key: key)
        #expect(try second.readAll(0..<3) == content(3))
    }

    @Test(arguments: [
        AESBlock(high: 1, low: .max), AESBlock(high: 1, low: .max - 2), AESBlock(high: .max, low: .max - 1),
        AESBlock(high: 0, low: 0),
    ])
    func `counts with all 128 bits in CTR`(iv: AESBlock) throws {
        let clear = content(100)
        let bytes = try smallDCF(.counter, clear, iv: iv)
        // the key stream block by block: one block of CBC under a zero vector is the bare cipher
        var stream: [UInt8] = []
        var counter = iv
        for _ in 0..<7 {
            var cipher = try AESStream(.chainedEncrypt, key: testKey)
            cipher.start(AESBlock(high: 0, low: 0))
            var block = counter.bytes
            do {
                var span = block.mutableSpan
                var raw = unsafe span.mutableBytes
                cipher.apply(to: &raw, in: 0..<16)
            }
            stream += block
            let (low, carry) = counter.low.addingReportingOverflow(1)
            counter = AESBlock(high: carry ? counter.high &+ 1 : counter.high, low: low)
        }
        #expect(Array(bytes.suffix(100)) == zip(clear, stream).map { $0 ^ $1 })
        let reader = BytesReader(bytes)
        let read = try ClearPayloadReader(try #require(try DCFFile(reader).objects.first).payload, of: reader, key: testKey)
        for from in stride(from: 0, through: 96, by: 8) { #expect(try read.read(Int64(from)..<100) == Array(clear[from...])) }
    }

    @Test func `is refused when its content is not as long as announced`() throws {
        func write(_ announced: Int64?, _ count: Int, key: Secret? = testKey, contentID: String = "a") throws {
            var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 0, low: 0) }
            try writer.begin(contentType: "a/b", DCFHeaders(cipher: .cbc, contentID: contentID), length: announced, key: key)
            try writer.append(content(count).rawSpan)
            try writer.end()
        }
        #expect(throws: DCFError(.length, "")) { try write(10, 9) }
        #expect(throws: DCFError(.length, "")) { try write(10, 11) }
        #expect(throws: DCFError(.length, "")) { try write(-1, 0) }
        #expect(throws: DCFError(.key, "")) { try write(10, 10, key: nil) }
        #expect(throws: DCFError(.key, "")) { try write(10, 10, key: Secret([1, 2])) }
        #expect(throws: DCFError(.header, "")) { try write(10, 10, contentID: String(repeating: "x", count: 65536)) }
        try write(10, 10, contentID: String(repeating: "x", count: 65535))
    }
}
