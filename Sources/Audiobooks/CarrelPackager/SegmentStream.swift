// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
package import CarrelCrypto

/// A segment, generated while it is read: media range, framing, AES-128-CBC (RFC 8216 §4.3.2.4).
///
/// It uses 96 KiB for any segment length, allocated at the first read and released with the last byte.
package final class SegmentStream: @unchecked Sendable {  // one reader at a time, as `read` asks
    /// The segment being made.
    package let segment: Segment
    /// Bytes of the whole segment as sent; exact, before anything is read.
    package let length: Int

    private let format: AudioFormat
    private let walk: FrameWalk
    private let form: SegmentForm
    private let input: any SegmentInput
    let key: Secret?
    private var encryptor: AESCBCEncryptor?
    private var plain: PlainSegment?
    private var hasBegun = false
    private var tail = BlockTail()
    private var position = 0

    /// - Parameters:
    ///   - index: the title's index.
    ///   - number: the segment's media sequence number; also the initialization vector, big-endian (§5.2).
    ///   - form: how the segment carries its frames.
    ///   - key: 16 bytes; nil to leave the segment unencrypted.
    ///   - input: the title's media.
    /// - Throws: `noSegment`, or a `CryptoError` for an invalid key.
    package init(index: SegmentIndex, number: Int, form: SegmentForm, key: Secret?, input: any SegmentInput) throws {
        guard number >= 0, number < index.segmentCount else {
            throw PackagerError(.noSegment, "the title has no such segment")
        }
        segment = index.segment(number)
        length = index.length(ofSegment: number, form: form, encrypted: key != nil)
        format = index.format
        walk = index.walk
        self.form = form
        self.input = input
        guard (key?.count ?? 16) == 16 else { throw PackagerError(.key, "a content key has 16 bytes") }
        self.key = key
    }

    /// Creates an unread stream of the same segment.
    package init(restarting other: SegmentStream) {
        segment = other.segment
        length = other.length
        format = other.format
        walk = other.walk
        form = other.form
        input = other.input
        key = other.key
    }

    /// Appends the next bytes, as many as fit and remain; nothing at the end.
    ///
    /// Not for concurrent readers. Blocks while the input does.
    ///
    /// - Throws: errors of the input; `mediaTruncated` or `mediaDamaged` if the media does not match the index. The content of
    ///   `out` is then invalid, and further reads throw `failedBefore`.
    package func read(into out: inout OutputRawSpan) throws {
        let room = out.freeCapacity
        tail.move(into: &out)
        if out.freeCapacity > 0, position + room - out.freeCapacity < length { try make(into: &out) }
        position += room - out.freeCapacity
    }

    /// Skips the bytes before the requested range. They are still generated, because each cipher block depends on all previous
    /// ones.
    ///
    /// - Parameter count: the number of bytes, at most the remaining ones.
    /// - Throws: the errors of `read`.
    package func skip(_ count: Int) throws {
        let end = position + count
        precondition(count >= 0 && end <= length, "the segment ends before")
        try unsafe withUnsafeTemporaryAllocation(byteCount: min(count, 16 << 10), alignment: 16) { buffer in
            while position < end {
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(end - position))
                var out = unsafe OutputRawSpan(buffer: part, initializedCount: 0)
                try read(into: &out)
                _ = unsafe out.finalize(for: part)
            }
        }
    }

    /// The initialization vector: the media sequence number, big-endian (§5.2).
    var vector: [UInt8] {
        var vector = [UInt8](repeating: 0, count: 8)
        vector.append(bigEndian: UInt64(segment.number))
        return vector
    }

    private func make(into out: inout OutputRawSpan) throws {
        var plain: PlainSegment
        if let current = self.plain.take() {
            plain = current
        } else {
            guard !hasBegun else { throw PackagerError(.failedBefore, "the segment could not be made") }
            hasBegun = true
            if let key { encryptor = try AESCBCEncryptor(key: key, iv: vector) }
            plain = unsafe PlainSegment(segment, format: format, walk: walk, form: form, input: input)
        }
        let unit = key != nil ? BlockTail.blockSize : 1
        while out.freeCapacity > 0 {
            if plain.window.count < unit, try !plain.makeMore() {
                try finish(plain.window, into: &out)
                return
            }
            let count = min(plain.window.count, out.freeCapacity) / unit * unit
            if count > 0 {
                try plain.window.withBytes { bytes in try pass(bytes.extracting(0..<count), into: &out) }
                plain.window.drop(count)
            } else if plain.window.count >= unit {  // the output has room for a part of a block
                try tail.fill { tail in
                    try plain.window.withBytes { bytes in try pass(bytes.extracting(0..<unit), into: &tail) }
                }
                tail.move(into: &out)
                plain.window.drop(unit)
            }
        }
        self.plain = consume plain
    }

    /// The segment before encryption, with its padding (RFC 8216 §4.3.2.4: PKCS#7), in exactly as much room as it takes.
    func makeWhole(in room: UnsafeMutableRawBufferPointer) throws {
        guard !hasBegun else { throw PackagerError(.failedBefore, "the segment was made before") }
        hasBegun = true
        var plain = unsafe PlainSegment(segment, format: format, walk: walk, form: form, input: input, into: room)
        var count = -1
        while plain.window.count > count {
            count = plain.window.count
            guard try plain.makeMore() else { break }
        }
        let padding = length - plain.window.count
        guard key == nil ? padding == 0 : (1...BlockTail.blockSize).contains(padding) else {
            throw PackagerError(.mediaDamaged, "the stored media is not what its index says")
        }
        unsafe room.suffix(padding).initializeMemory(as: UInt8.self, repeating: UInt8(padding))
    }

    private func pass(_ bytes: RawSpan, into out: inout OutputRawSpan) throws(CryptoError) {
        if key != nil {
            try encryptor?.update(bytes, into: &out)
        } else {
            out.append(copying: bytes)
        }
    }

    /// The last cipher block: the rest of the plain text, and padding.
    private func finish(_ remainder: borrowing SegmentWindow, into out: inout OutputRawSpan) throws(CryptoError) {
        guard key != nil else { return }
        try tail.fill { (tail) throws(CryptoError) in
            try remainder.withBytes { (bytes) throws(CryptoError) in try encryptor?.update(bytes, into: &tail) }
            try encryptor.take()?.finish(into: &tail)
        }
        tail.move(into: &out)
    }
}
