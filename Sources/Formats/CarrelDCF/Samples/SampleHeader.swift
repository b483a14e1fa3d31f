// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The header of each sample (`odaf` of OMA PDCF, `iSFM` of ISMACryp 1.1 §9.2): a flag if encryption is selective and, for an
/// encrypted sample, an initialization vector and a key indicator.
package struct SampleHeader: Sendable, Hashable {
    /// Whether each sample begins with a byte whose highest bit marks it as encrypted.
    package let isSelective: Bool
    /// Bytes of the key indicator.
    package let keyIndicatorLength: Int
    /// Bytes of the initialization vector.
    package let ivLength: Int

    /// - Parameters:
    ///   - isSelective: whether each sample has a flag.
    ///   - keyIndicatorLength: bytes of the key indicator.
    ///   - ivLength: bytes of the initialization vector.
    package init(isSelective: Bool, keyIndicatorLength: Int, ivLength: Int) {
        self.isSelective = isSelective
        self.keyIndicatorLength = keyIndicatorLength
        self.ivLength = ivLength
    }

    /// Reads the three bytes after version and flags.
    init(_ content: RawSpan, at base: Int) throws(Malformed) {
        guard content.byteCount == 7, content.u32(at: 0) >> 24 == 0 else {
            throw Malformed("format of sample headers is damaged", at: base)
        }
        isSelective = content.u8(at: 4) & 0x80 != 0
        keyIndicatorLength = Int(content.u8(at: 5))
        ivLength = Int(content.u8(at: 6))
    }

    /// The places of the parts of a sample.
    struct Parts {
        /// The initialization vector; nil for a sample in the clear.
        var iv: Range<Int>?
        var data: Range<Int>
    }

    func split(_ bytes: RawSpan, in range: Range<Int>) throws(Malformed) -> Parts {
        var at = range.lowerBound
        if isSelective {
            guard at < range.upperBound else { throw Malformed("sample has no header", at: 0) }
            let flag = bytes.u8(at: at)
            at += 1
            if flag & 0x80 == 0 { return Parts(iv: nil, data: at..<range.upperBound) }
        }
        guard range.upperBound - at >= ivLength + keyIndicatorLength else {
            throw Malformed("sample is shorter than its header", at: at - range.lowerBound)
        }
        return Parts(iv: at..<at + ivLength, data: at + ivLength + keyIndicatorLength..<range.upperBound)
    }
}
