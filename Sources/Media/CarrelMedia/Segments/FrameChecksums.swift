// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTS

/// Judges a key by the checksums of AC-3 and E-AC-3 frames, of which all but the first bytes were encrypted.
struct FrameChecksums: Sendable {
    private var good = 0
    private var bad = 0

    /// Wrong checksums that a right key may have.
    private static let tolerance = 2

    /// Whether the frames so far have shown the key to be right.
    var isVerified: Bool { good >= 2 && bad <= Self.tolerance }

    /// Counts the frames of a decrypted unit.
    ///
    /// - Throws: `wrongKey` if most checksums are wrong.
    mutating func add(_ unit: RawSpan, _ coding: ElementaryStream.Coding) throws(MediaError) {
        guard coding == .ac3 || coding == .enhancedAC3, !isVerified else { return }
        var at = 0
        while let length = ClearHead.frameLength(unit, at: at), length <= unit.byteCount - at {
            // without a block after the first sixteen bytes nothing was encrypted
            if length >= 32 { count(Self.isRight(unit.extracting(at..<at + length))) }
            at += length
        }
        guard bad <= Self.tolerance || bad <= good else {
            throw MediaError(
                .wrongKey,
                "frames of AC-3 have wrong checksums after the decryption: the key is another, or the stream is damaged"
            )
        }
    }

    private mutating func count(_ isRight: Bool) {
        if isRight { good += 1 } else { bad += 1 }
    }

    /// Whether the checksum over all bytes after the sync word is zero (ETSI TS 102 366 §4.4.1.2, §4.10.1).
    static func isRight(_ frame: RawSpan) -> Bool {
        var register: UInt16 = 0
        for at in 2..<frame.byteCount {
            register ^= UInt16(frame.u8(at: at)) << 8
            for _ in 0..<8 { register = register & 0x8000 == 0 ? register << 1 : register << 1 ^ 0x8005 }
        }
        return register == 0
    }
}
