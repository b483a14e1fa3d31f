package import CarrelBytes

extension SegmentIndex {
    /// Reads the first index in bytes that boxes may precede (ISO/IEC 14496-12 §8.16.3).
    ///
    /// - Parameter bytes: whole boxes up to the index, as the index range of a representation has them.
    /// - Returns: the index, and the first byte behind its box, from which `firstOffset` counts; nil where there is none.
    /// - Throws: `Malformed` with the byte.
    package static func read(_ bytes: RawSpan) throws(Malformed) -> (index: SegmentIndex, end: Int)? {
        var at = 0
        while at + 8 <= bytes.byteCount {
            let size = Int(bytes.u32(at: at))
            let length = size == 1 && at + 16 <= bytes.byteCount ? Int(clamping: bytes.u64(at: at + 8)) : size
            guard length >= 8 else { throw Malformed("box has no length", at: at) }
            if bytes.matches("sidx", at: at + 4) {
                guard length <= bytes.byteCount - at else { throw Malformed("segment index is cut off", at: at) }
                return (try SegmentIndex(bytes, content: at + (size == 1 ? 16 : 8)..<at + length), at + length)
            }
            guard length <= bytes.byteCount - at else { return nil }
            at += length
        }
        return nil
    }

    private init(_ bytes: RawSpan, content: Range<Int>) throws(Malformed) {
        guard content.count >= 24 else { throw Malformed("segment index is cut off", at: content.lowerBound) }
        let isLong = bytes.u8(at: content.lowerBound) > 0
        guard !isLong || content.count >= 32 else { throw Malformed("segment index is cut off", at: content.lowerBound) }
        var at = content.lowerBound + 4
        self.init(trackID: bytes.u32(at: at), timescale: bytes.u32(at: at + 4), earliestTime: 0, references: [])
        guard timescale > 0 else { throw Malformed("segment index has no time scale", at: at + 4) }
        at += 8
        earliestTime = isLong ? bytes.u64(at: at) : UInt64(bytes.u32(at: at))
        firstOffset = isLong ? bytes.u64(at: at + 8) : UInt64(bytes.u32(at: at + 4))
        at += isLong ? 16 : 8
        guard earliestTime < 1 << 62, firstOffset < 1 << 62 else { throw Malformed("segment index is out of range", at: at) }
        let count = Int(bytes.u16(at: at + 2))
        at += 4
        guard content.upperBound - at >= 12 * count else { throw Malformed("segment index is cut off", at: at) }
        references.reserveCapacity(count)
        for _ in 0..<count {
            let size = bytes.u32(at: at)
            var reference = Reference(
                size: size & 0x7fff_ffff,
                duration: bytes.u32(at: at + 4),
                startsWithSync: bytes.u32(at: at + 8) >> 31 == 1
            )
            reference.isIndex = size >> 31 == 1
            references.append(reference)
            at += 12
        }
    }
}
