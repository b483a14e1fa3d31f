// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The NAL units of a sample, each after its length (ISO/IEC 14496-15 §5.3.4.2.1).
package struct LengthPrefixedUnits: ~Escapable {
    private let sample: RawSpan
    private let lengthSize: Int
    private var offset = 0

    /// Begins at the first unit.
    ///
    /// - Parameters:
    ///   - sample: a whole sample.
    ///   - lengthSize: bytes of each length: 1, 2, 3 or 4.
    @_lifetime(copy sample)
    package init(_ sample: RawSpan, lengthSize: Int) {
        precondition((1...4).contains(lengthSize), "a NAL unit length has 1 to 4 bytes")
        self.sample = sample
        self.lengthSize = lengthSize
    }

    /// The range of the next unit, without its length; nil at the end of the sample. A unit may be empty.
    ///
    /// - Throws: if a length is truncated or exceeds the sample, at the offset of the length.
    @_lifetime(self: copy self)
    package mutating func next() throws(Malformed) -> Range<Int>? {
        guard offset < sample.byteCount else { return nil }
        let start = offset + lengthSize
        guard start <= sample.byteCount else { throw Malformed("NAL unit length is cut off", at: offset) }
        var length = 0
        for i in offset..<start { length = length << 8 | Int(sample.u8(at: i)) }
        guard length <= sample.byteCount - start else { throw Malformed("NAL unit leaves its sample", at: offset) }
        offset = start + length
        return start..<offset
    }
}

extension LengthPrefixedUnits {
    /// Finds the kinds of units in a sample.
    ///
    /// - Parameters:
    ///   - sample: a whole sample.
    ///   - codec: its codec.
    ///   - lengthSize: bytes of each length.
    /// - Returns: the kinds found.
    /// - Throws: if a length is truncated or leaves the sample.
    package static func kinds(in sample: RawSpan, codec: VideoCodec, lengthSize: Int) throws(Malformed) -> NALUnitSet {
        var units = LengthPrefixedUnits(sample, lengthSize: lengthSize)
        var kinds: NALUnitSet = []
        while let unit = try units.next() {
            guard !unit.isEmpty else { continue }
            kinds.formUnion(NALUnitSet(NALUnitType(codec, header: sample.u8(at: unit.lowerBound))))
        }
        return kinds
    }

    /// Replaces each four-byte length by the start code 00 00 00 01, in place.
    ///
    /// - Parameters:
    ///   - bytes: the buffer with the sample.
    ///   - range: the range of the sample. Traps if it is not within `bytes`.
    ///   - codec: its codec.
    /// - Returns: the kinds of units found.
    /// - Throws: if a length is truncated or exceeds the sample; the offset is relative to the start of `bytes`, and the sample
    ///   is changed up to it.
    @discardableResult
    package static func makeByteStream(
        _ bytes: inout MutableRawSpan,
        in range: Range<Int>,
        codec: VideoCodec
    ) throws(Malformed) -> NALUnitSet {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.byteCount, "the range lies outside the bytes")
        return try unsafe bytes.withUnsafeMutableBytes { buffer throws(Malformed) in
            var kinds: NALUnitSet = []
            guard let base = buffer.baseAddress else { return kinds }
            var at = range.lowerBound
            while at < range.upperBound {
                guard range.upperBound - at >= 4 else { throw Malformed("NAL unit length is cut off", at: at) }
                let length = unsafe Int(UInt32(bigEndian: (base + at).loadUnaligned(as: UInt32.self)))
                guard length <= range.upperBound - at - 4 else { throw Malformed("NAL unit leaves its sample", at: at) }
                unsafe (base + at).storeBytes(of: UInt32(1).bigEndian, as: UInt32.self)
                at += 4
                if length > 0 {
                    kinds.formUnion(NALUnitSet(NALUnitType(codec, header: unsafe base.load(fromByteOffset: at, as: UInt8.self))))
                }
                at += length
            }
            return kinds
        }
    }

    /// Appends a sample as a byte stream, whatever its length size. Empty units are left out.
    ///
    /// - Parameters:
    ///   - sample: a whole sample.
    ///   - lengthSize: size of each length in bytes.
    ///   - codec: its codec.
    ///   - out: gets each unit after 00 00 00 01.
    /// - Returns: the kinds of units found.
    /// - Throws: if a length is truncated or exceeds the sample; `out` may contain the units before it.
    @discardableResult
    package static func append(
        _ sample: RawSpan,
        lengthSize: Int,
        codec: VideoCodec,
        asByteStreamTo out: inout [UInt8]
    ) throws(Malformed) -> NALUnitSet {
        var units = LengthPrefixedUnits(sample, lengthSize: lengthSize)
        var kinds: NALUnitSet = []
        while let unit = try units.next() {
            guard !unit.isEmpty else { continue }
            kinds.formUnion(NALUnitSet(NALUnitType(codec, header: sample.u8(at: unit.lowerBound))))
            out.append(bigEndian: 1 as UInt32)
            out.append(copying: sample.extracting(unit))
        }
        return kinds
    }

    /// Appends the units of a byte stream, each after a four-byte length.
    ///
    /// - Parameters:
    ///   - stream: a byte stream that begins with a start code, or with zero bytes before it.
    ///   - codec: its codec.
    ///   - leavingOut: kinds of units that are not appended, such as delimiters and parameter sets.
    ///   - out: gets the sample.
    /// - Returns: the kinds of units found, left out or not.
    /// - Throws: if bytes other than zero come before the first start code.
    @discardableResult
    package static func append(
        byteStream stream: RawSpan,
        codec: VideoCodec,
        leavingOut: NALUnitSet = [],
        to out: inout [UInt8]
    ) throws(Malformed) -> NALUnitSet {
        let first = StartCode.first(in: stream, from: 0) ?? stream.byteCount
        for i in 0..<first where stream.u8(at: i) != 0 { throw Malformed("byte stream begins without a start code", at: i) }
        var units = ByteStreamUnits(stream)
        var kinds: NALUnitSet = []
        while let unit = units.next() {
            let kind = NALUnitSet(NALUnitType(codec, header: stream.u8(at: unit.lowerBound)))
            kinds.formUnion(kind)
            guard leavingOut.isDisjoint(with: kind) || kind.isEmpty else { continue }
            out.append(bigEndian: UInt32(truncatingIfNeeded: unit.count))
            out.append(copying: stream.extracting(unit))
        }
        return kinds
    }
}
