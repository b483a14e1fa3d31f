// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelTesting
import Testing

/// A file of which only the first bytes exist: zeros follow them.
private final class HollowFile: ByteReader {
    let head: [UInt8]
    let length: Int64
    /// Bytes of the longest read.
    private(set) var longest = 0
    private(set) var total = 0

    init(head: [UInt8], length: Int64) {
        self.head = head
        self.length = length
    }

    func read(_ range: Range<Int64>) -> [UInt8] {
        longest = max(longest, range.count)
        total += range.count
        var bytes = [UInt8](repeating: 0, count: range.count)
        for at in range.clamped(to: 0..<Int64(head.count)) { bytes[Int(at - range.lowerBound)] = head[Int(at)] }
        return bytes
    }
}

/// Keeps the boxes in front of a payload.
private final class HeadSink: DCFSink {
    private(set) var head: [UInt8] = []

    func write(_ bytes: RawSpan) { if head.count < 1000 { head.append(copying: bytes) } }

    func overwrite(_ bytes: RawSpan, at offset: Int64) {}
}

struct `A payload of many gigabytes` {
    private static let length: Int64 = 20 << 30

    /// A DCF whose payload is zeros.
    private func file(_ cipher: DCFCipher, iv: AESBlock) throws -> HollowFile {
        let sink = HeadSink()
        var writer = try DCFWriter(sink) { iv }
        try writer.begin(contentType: "a/b", DCFHeaders(cipher: cipher, contentID: "cid:1"), length: Self.length, key: testKey)
        let payload = cipher == .cbc ? Self.length + 16 : Self.length
        return HollowFile(head: sink.head, length: Int64(sink.head.count) + payload)
    }

    @Test func `is read from any place in CTR, and only there`() throws {
        let iv = AESBlock(high: 5, low: .max - 100)
        let file = try file(.counter, iv: iv)
        let object = try #require(try DCFFile(file).objects.first)
        #expect(object.headers.clearLength == Self.length)
        let clear = try ClearPayloadReader(object.payload, of: file, key: testKey)
        #expect(clear.length == Self.length)
        let offsets: [Int64] = [0, 1, 1599, 1616, 4 << 30, (4 << 30) + 7, Self.length - 33]
        for offset in offsets {
            // zeros decrypt to the key stream
            var expected = [UInt8](repeating: 0, count: 64)
            var stream = try AESStream(.counter, key: testKey)
            let block = UInt64(offset / 16)
            let (low, carry) = iv.low.addingReportingOverflow(block)
            // the first of two blocks may be the last before the carry
            for index in 0..<4 {
                let (next, second) = low.addingReportingOverflow(UInt64(index))
                stream.start(AESBlock(high: carry || second ? 6 : 5, low: next))
                var span = expected.mutableSpan
                var raw = unsafe span.mutableBytes
                stream.apply(to: &raw, in: index * 16..<index * 16 + 16)
            }
            let inside = Int(offset % 16)
            #expect(try clear.read(offset..<offset + 33) == Array(expected[inside..<inside + 33]), "\(offset)")
        }
        #expect(file.longest <= 4096)
        #expect(file.total < 8192)
    }

    @Test func `is read from any place in CBC, and only there`() throws {
        let file = try file(.cbc, iv: AESBlock(high: 5, low: 6))
        let object = try #require(try DCFFile(file).objects.first)
        let clear = try ClearPayloadReader(object.payload, of: file, key: testKey)
        // a block of zeros after a block of zeros is the bare cipher's inverse of zeros, wherever it is
        let block = try clear.read(16..<32)
        let offsets: [Int64] = [1 << 20, 4 << 30, (8 << 30) + 16, Self.length - 32]
        for offset in offsets {
            #expect(try clear.read(offset..<offset + 16) == block)
            #expect(try clear.read(offset + 5..<offset + 9) == Array(block[5..<9]))
        }
        // there is no padding at the end
        #expect(fault { _ = try clear.read(Self.length - 1..<Self.length) }?.offset == Int(file.length) - 16)
        #expect(file.total < 8192)
    }
}
