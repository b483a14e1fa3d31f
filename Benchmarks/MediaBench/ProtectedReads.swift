// SPDX-License-Identifier: Apache-2.0

import CMediaLoops
import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelMedia
import Glibc

/// Reads of 64 KiB of a DCF in the page cache, in order and at random, compared with a C loop of the same calls. `DCF_BYTES` sets
/// the length of its content; default 1 GB.
func measureProtectedReads() async throws {
    let text = unsafe getenv("DCF_BYTES").map { unsafe String(cString: $0) }
    let blocks = max(2, (text.flatMap { Int($0) } ?? 1_000_000_000) >> 16)
    for (cipher, name) in [(DCFCipher.cbc, "CBC"), (.counter, "CTR")] {
        for hasTags in [true, false] {
            let made = try ProtectedFile(cipher, blocks: blocks, hasTags: hasTags)
            var order = (0..<UInt64(blocks - 1)).map(\.self)
            for (words, isShuffled) in [("in order", false), ("at random", true)] {
                if isShuffled { order.shuffle() }
                try await made.compare("64 KiB reads of a DCF, \(name)\(hasTags ? " with tags" : ""), \(words)", order)
            }
        }
    }
}

/// A file that is deleted with its last descriptor's process.
private final class ProtectedFile {
    let path: String
    let descriptor: Int32
    var dcf = dcf_file()
    let tags: [UInt8]
    private static let key = Secret([UInt8](1...16))

    init(_ cipher: DCFCipher, blocks: Int, hasTags: Bool) throws {
        path = "/var/tmp/carrel-dcf-\(getpid())"
        var writer = try DCFWriter(FileSink(path: path)) { AESBlock(high: 7, low: 0) }
        let headers = DCFHeaders(cipher: cipher, contentID: "cid:bench")
        let piece = [UInt8](repeating: 0x5a, count: 1 << 16)
        try writer.begin(
            contentType: "application/octet-stream",
            headers,
            length: Int64(blocks) << 16,
            key: Self.key,
            isTagged: hasTags
        )
        for _ in 0..<blocks { try writer.append(piece.rawSpan) }
        try writer.end()
        _ = try writer.finish()
        let reader = try LocalFile(path)
        let object = try DCFFile(reader).objects[0]
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        dcf.start = UInt64(object.payload.start)
        dcf.blocks = UInt64(PayloadTags.blockCount(of: object.payload.encryptedLength))
        dcf.chained = cipher == .cbc ? 1 : 0
        dcf.has_tags = hasTags ? 1 : 0
        unsafe withUnsafeMutableBytes(of: &dcf.key) { unsafe $0.copyBytes(from: 1...16) }
        unsafe withUnsafeMutableBytes(of: &dcf.iv) { unsafe $0.copyBytes(from: object.payload.iv.bytes) }
        guard let table = object.tags else {
            tags = []
            return
        }
        let head = try reader.readAll(table.head)
        let tagKey = PayloadTags.key(Self.key, iv: object.payload.iv, headDigest: SHA256.hash(head.rawSpan))
        let bytes = tagKey.withBytes { [UInt8](copying: $0) }
        unsafe withUnsafeMutableBytes(of: &dcf.tag_key) { unsafe $0.copyBytes(from: bytes) }
        tags = try reader.readAll(table.range(of: 0..<table.count))
    }

    deinit {
        close(descriptor)
        unsafe unlink(path)
    }

    func compare(_ name: String, _ order: [UInt64]) async throws {
        var keys = GivenKeys()
        keys.add(Self.key, for: nil)
        var buffer = [UInt8](repeating: 0, count: (1 << 16) + 16)
        var ratios: [Double] = []
        for _ in 0..<5 {
            let stream = try await MediaStream.open(FileSource(path: path), as: .dcf(), keys: keys)
            let start = ContinuousClock.now
            for block in order {
                let bytes = try await stream.read(Int64(block) << 16..<Int64(block + 1) << 16)
                precondition(bytes.count == 1 << 16)
            }
            let ours = ContinuousClock.now - start
            await stream.close()
            var file = dcf
            let floor = ContinuousClock.now
            let isRight = unsafe dcf_loop(descriptor, order, order.count, &file, tags, &buffer) == 1
            precondition(isRight, "the C loop finds other tags")
            ratios.append((ContinuousClock.now - floor) / ours)
        }
        ratios.sort()
        func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
        print("\(name): \(rounded(ratios[2])) of C [\(rounded(ratios[0])), \(rounded(ratios[4]))]")
    }
}

/// A file as the sink of a writer.
private final class FileSink: DCFSink {
    private let descriptor: Int32

    init(path: String) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(descriptor >= 0, "no file in /var/tmp")
    }

    deinit { close(descriptor) }

    func write(_ bytes: RawSpan) {
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        precondition(count == bytes.byteCount, "the disk is full")
    }

    func overwrite(_ bytes: RawSpan, at offset: Int64) { preconditionFailure("the length is known") }
}
