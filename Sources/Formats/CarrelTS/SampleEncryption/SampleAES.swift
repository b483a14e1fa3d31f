// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
package import CarrelBytes
package import CarrelCrypto
import CarrelVideo

/// Encrypts or decrypts access units of a transport stream (MPEG-2 Stream Encryption Format for HTTP Live Streaming,
/// `SAMPLE-AES`).
///
/// AES-128 in CBC without padding, restarted with the same vector for each NAL unit and each audio frame.
package struct SampleAES: ~Copyable, Sendable {
    /// The change made to the units.
    package enum Direction: Sendable, Hashable {
        case encrypt, decrypt
    }

    private let direction: Direction
    private let iv: AESBlock
    private var cipher: AESStream
    private var output: [UInt8] = []
    private var unit: [UInt8] = []

    /// NAL units up to this length stay clear.
    private static let shortest = 48
    /// Clear bytes at the start of a protected NAL unit.
    private static let videoLeader = 32
    /// Clear bytes after the header of an audio frame; for AC-3, including the header.
    private static let audioLeader = 16

    /// Expands the key.
    ///
    /// - Parameters:
    ///   - direction: encrypt or decrypt.
    ///   - key: 16 bytes.
    ///   - iv: the initialization vector of the segment.
    /// - Throws: `keyLength`, or `refused` if there is no memory.
    package init(_ direction: Direction, key: Secret, iv: AESBlock) throws(CryptoError) {
        guard key.count == 16 else { throw CryptoError(.keyLength, "a SAMPLE-AES key has 16 bytes") }
        cipher = try AESStream(direction == .encrypt ? .chainedEncrypt : .chainedDecrypt, key: key)
        self.direction = direction
        self.iv = iv
    }

    /// Changes one access unit.
    ///
    /// - Parameters:
    ///   - data: a byte stream of NAL units, an ADTS frame, or syncframes of AC-3 or E-AC-3; the output may have another length.
    ///   - coding: the coding of the stream.
    /// - Throws: if the unit does not match its coding, or the format does not protect such streams.
    package mutating func apply(to data: inout [UInt8], coding: ElementaryStream.Coding) throws(Malformed) {
        switch coding {
        case .video(.h264): applyVideo(to: &data)
        case .aac:
            guard let header = ADTSHeader.parse(data.rawSpan, at: 0) else { throw Malformed("ADTS header is missing", at: 0) }
            applyFrame(&data, from: header.headerLength + Self.audioLeader, to: data.count)
        case .ac3, .enhancedAC3:
            var at = 0
            while at < data.count {
                guard let frame = AC3SyncFrame.parse(data.rawSpan, at: at), frame.frameLength <= data.count - at else {
                    throw Malformed("AC-3 syncframe is missing", at: at)
                }
                applyFrame(&data, from: at + Self.audioLeader, to: at + frame.frameLength)
                at += frame.frameLength
            }
        default: throw Malformed("SAMPLE-AES of such a stream is not defined", at: 0)
        }
    }

    /// Processes the whole blocks of a frame; the remaining bytes stay clear.
    private mutating func applyFrame(_ data: inout [UInt8], from start: Int, to end: Int) {
        guard end - start >= 16 else { return }
        cipher.start(iv)
        var span = data.mutableSpan
        var bytes = unsafe span.mutableBytes
        cipher.apply(to: &bytes, in: start..<end)
    }

    private mutating func applyVideo(to data: inout [UInt8]) {
        var output: [UInt8] = []
        swap(&output, &self.output)
        defer { swap(&output, &self.output) }
        output.removeAll(keepingCapacity: true)
        var copiedEnd = 0
        var units = ByteStreamUnits(data.rawSpan)
        while let range = units.next() {
            let type = NALUnitType(.h264, header: data[range.lowerBound])
            guard type.number == 1 || type.number == 5, range.count > Self.shortest else { continue }
            output.append(copying: data.rawSpan.extracting(copiedEnd..<range.lowerBound))
            copiedEnd = range.upperBound
            let bytes = data.rawSpan.extracting(range)
            switch direction {
            case .decrypt:
                // removes emulation prevention of the encrypted unit; the clear unit contains its own
                let start = output.count
                EmulationPrevention.append(removedFrom: bytes, to: &output)
                Self.applyPattern(&cipher, iv, &output, start)
            case .encrypt:
                unit.removeAll(keepingCapacity: true)
                unit.append(copying: bytes)
                Self.applyPattern(&cipher, iv, &unit, 0)
                EmulationPrevention.append(insertedInto: unit.rawSpan, to: &output)
            }
        }
        guard copiedEnd > 0 else { return }
        output.append(copying: data.rawSpan.extracting(copiedEnd..<data.count))
        swap(&output, &data)
    }

    /// One block in ten of a NAL unit, as long as more than a block is left.
    private static func applyPattern(_ cipher: inout AESStream, _ iv: AESBlock, _ bytes: inout [UInt8], _ start: Int) {
        let first = start + videoLeader
        let length = (bytes.count - first - 1) / 16 * 16
        guard length > 0 else { return }
        cipher.start(iv)
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        cipher.apply(to: &raw, in: first..<first + length, pattern: BlockPattern(crypt: 1, skip: 9))
    }
}
