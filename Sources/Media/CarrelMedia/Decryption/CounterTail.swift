// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4

/// The last part of a block of AAC under `cens` without a pattern, which some packagers encrypt and others leave clear, with the same
/// signalling.
///
/// A block of raw data ends with the element `ID_END` and zeros up to the next byte (ISO/IEC 14496-3 §4.4.2.1). Both readings of each
/// sample are compared with that, and the reading that fitted more samples so far applies.
struct CounterTail {
    /// Samples that fit the clear reading alone, less the samples that fit the encrypted reading alone.
    private var score = 0
    private var bytes: [UInt8] = []

    /// Bounds the score, so that another packager's samples in the same track are noticed.
    private static let limit = 64

    /// Keeps the last part of a block of an encrypted sample.
    mutating func save(_ sample: RawSpan, _ parameters: SampleEncryption) {
        bytes.removeAll(keepingCapacity: true)
        let count = sample.byteCount % 16
        guard parameters.isProtected, parameters.subsamples.isEmpty, parameters.pattern.isWhole, count > 0, sample.byteCount > 16
        else { return }
        bytes.append(copying: sample.extracting(sample.byteCount - count..<sample.byteCount))
    }

    /// Puts the last part back if the packager left it clear.
    mutating func restore(in sample: inout MutableRawSpan, _ range: Range<Int>) {
        guard !bytes.isEmpty else { return }
        let start = range.upperBound - bytes.count
        var clear = [sample.bytes.u8(at: start - 1)]
        clear += bytes
        let isClear = Self.endsBlock(clear.rawSpan)
        let isEncrypted = Self.endsBlock(sample.bytes.extracting(start - 1..<range.upperBound))
        if isClear != isEncrypted { score = max(-Self.limit, min(Self.limit, score + (isClear ? 1 : -1))) }
        guard score > 0 else { return }
        for (i, byte) in bytes.enumerated() { sample.storeBytes(of: byte, toByteOffset: start + i, as: UInt8.self) }
    }

    /// Whether bytes end with three set bits and less than eight zeros.
    static func endsBlock(_ bytes: RawSpan) -> Bool {
        let end = bytes.u16(at: bytes.byteCount - 2)
        let zeros = end.trailingZeroBitCount
        return zeros < 8 && end >> UInt16(zeros) & 7 == 7
    }
}
