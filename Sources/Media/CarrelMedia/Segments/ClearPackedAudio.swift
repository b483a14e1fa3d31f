// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelTS

/// Decrypts the frames of packed audio (RFC 8216 §3.4) with encrypted samples (MPEG-2 Stream Encryption Format for HTTP Live
/// Streaming §2.3.2): frames of AAC, AC-3 and E-AC-3 keep their length, and ID3 tags pass unchanged.
struct ClearPackedAudio: ~Copyable {
    private var cipher: SampleAES
    /// The evidence of the frames so far.
    private var checksums = FrameChecksums()
    /// The beginning of a frame or a tag.
    private var held: [UInt8] = []
    /// Bytes of a tag that are to come.
    private var tagLeft = 0

    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - iv: the vector of the segment.
    /// - Throws: `crypto.key-length`, `crypto.refused`.
    init(key: Secret, iv: AESBlock) throws(CryptoError) {
        cipher = try SampleAES(.decrypt, key: key, iv: iv)
    }

    /// Whether a segment begins like audio without a container.
    ///
    /// - Parameter head: its first bytes, at least three.
    /// - Returns: whether it begins with a tag or a frame.
    static func begins(_ head: RawSpan) -> Bool { head.matches("ID3", at: 0) || Self.coding(head, at: 0) != nil }

    private static func coding(_ bytes: RawSpan, at offset: Int) -> ElementaryStream.Coding? {
        let word = bytes.u16(at: offset)
        return word & 0xfff6 == 0xfff0 ? .aac : word == 0x0b77 ? .ac3 : nil
    }

    /// Decrypts a piece.
    ///
    /// - Parameters:
    ///   - piece: the next bytes of the segment.
    ///   - sink: gets whole frames.
    /// - Throws: the errors of the sink; `Malformed` if there is neither a frame nor a tag.
    mutating func take(_ piece: RawSpan, to sink: inout some MediaSink) throws {
        held.append(copying: piece)
        var at = 0
        var clear: [UInt8] = []
        while tagLeft > 0 && held.count > at || held.count - at >= 8 {
            if tagLeft == 0, held.rawSpan.matches("ID3", at: at) {
                guard held.count - at >= 10 else { break }
                guard let length = ID3.headerLength(held.rawSpan.extracting(at..<at + 10)) else {
                    throw Malformed("an ID3 tag is damaged", at: 0)
                }
                tagLeft = length
            }
            if tagLeft > 0 {
                let count = min(tagLeft, held.count - at)
                clear += held[at..<at + count]
                tagLeft -= count
                at += count
                continue
            }
            guard let coding = Self.coding(held.rawSpan, at: at), let length = Self.frameLength(coding, held.rawSpan, at: at)
            else {
                throw Malformed("a frame of audio is missing", at: 0)
            }
            guard held.count - at >= length else { break }
            var frame = Array(held[at..<at + length])
            try cipher.apply(to: &frame, coding: coding)
            try checksums.add(frame.rawSpan, coding)
            clear += frame
            at += length
        }
        held.removeFirst(at)
        try sink.write(clear.rawSpan)
    }

    /// Ends the segment.
    ///
    /// - Returns: whether the frames have shown the key to be right.
    /// - Throws: `Malformed` if it is truncated.
    @discardableResult
    func finish() throws(Malformed) -> Bool {
        guard held.isEmpty, tagLeft == 0 else { throw Malformed("the last frame of audio is cut off", at: 0) }
        return checksums.isVerified
    }

    private static func frameLength(_ coding: ElementaryStream.Coding, _ bytes: RawSpan, at offset: Int) -> Int? {
        let length =
            coding == .aac ? ADTSHeader.parse(bytes, at: offset)?.frameLength : AC3SyncFrame.parse(bytes, at: offset)?.frameLength
        // shorter than its header, a frame would never end
        return length.flatMap { $0 >= 7 ? $0 : nil }
    }
}
