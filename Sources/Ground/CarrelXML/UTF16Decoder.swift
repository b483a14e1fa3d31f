// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Makes UTF-8 of UTF-16 (RFC 2781), from bytes as they come.
package struct UTF16Decoder {
    private let isBigEndian: Bool
    /// The first byte of a unit whose second has not come.
    private var half: UInt8?
    /// The first unit of a pair whose second has not come.
    private var lead: UInt16?
    /// Bytes that were taken.
    private var size = 0

    /// - Parameter isBigEndian: whether the higher byte of each unit comes first.
    package init(isBigEndian: Bool) {
        self.isBigEndian = isBigEndian
    }

    /// Detects UTF-16 in the first bytes of a document of XML or HTML: by a byte order mark, or else by `<` in UTF-16 (XML 1.0
    /// appendix F).
    ///
    /// - Parameter head: at least two bytes; nil if it is not UTF-16.
    package init?(head: some Sequence<UInt8>) {
        switch Array(head.prefix(2)) {
        case [0xfe, 0xff], [0, UInt8(ascii: "<")]: self.init(isBigEndian: true)
        case [0xff, 0xfe], [UInt8(ascii: "<"), 0]: self.init(isBigEndian: false)
        default: return nil
        }
    }

    /// Decodes the next bytes.
    ///
    /// - Parameter bytes: any number of bytes.
    /// - Returns: the text that they complete, without the byte order mark.
    /// - Throws: an error for an unpaired surrogate.
    package mutating func decode(_ bytes: RawSpan) throws(Malformed) -> String {
        var out = String.UnicodeScalarView()
        for index in 0..<bytes.byteCount {
            let byte = bytes.u8(at: index)
            size += 1
            guard let first = half.take() else {
                half = byte
                continue
            }
            let (high, low) = isBigEndian ? (first, byte) : (byte, first)
            let unit = UInt16(high) << 8 | UInt16(low)
            if let lead = lead.take() {
                guard UTF16.isTrailSurrogate(unit) else { throw malformed }
                let value = 0x1_0000 + ((UInt32(lead) & 0x3ff) << 10) + (UInt32(unit) & 0x3ff)
                guard let scalar = Unicode.Scalar(value) else { throw malformed }
                out.append(scalar)
            } else if UTF16.isLeadSurrogate(unit) {
                lead = unit
            } else {
                guard let scalar = Unicode.Scalar(unit) else { throw malformed }
                if size > 2 || scalar != "\u{feff}" { out.append(scalar) }
            }
        }
        return String(out)
    }

    /// The end of the document.
    ///
    /// - Throws: when half a character is left.
    package func finish() throws(Malformed) {
        guard half == nil, lead == nil else { throw malformed }
    }

    private var malformed: Malformed { Malformed("the text is not UTF-16", at: max(0, size - 2)) }
}
