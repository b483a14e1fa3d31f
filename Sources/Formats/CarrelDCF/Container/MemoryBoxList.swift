// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// Boxes in memory, read strictly: each is within its parent, without trailing bytes (ISO/IEC 14496-12 §4.2).
enum MemoryBoxList {
    /// Lists of boxes are refused beyond this length.
    static let limit = 1000

    /// Calls `visit` with the type of each box, its whole bytes and its content.
    ///
    /// - Parameters:
    ///   - span: the boxes.
    ///   - base: the offset of `span` in the file, for errors.
    ///   - visit: gets the type, the box with its header, its content, and the offset of the content in the file.
    /// - Throws: the errors of `visit`; `Malformed` if a box does not fit or there are too many.
    static func forEach(
        in span: RawSpan,
        base: Int,
        _ visit: (FourCC, RawSpan, RawSpan, Int) throws(Malformed) -> Void
    ) throws(Malformed) {
        var at = 0
        var count = 0
        while at < span.byteCount {
            guard span.byteCount - at >= 8 else { throw Malformed("box header is cut off", at: base + at) }
            let type = FourCC(span.u32(at: at + 4))
            let size = Int(span.u32(at: at))
            guard size >= 8 else { throw Malformed("box \(type) is smaller than its header", at: base + at) }
            guard size <= span.byteCount - at else { throw Malformed("box \(type) reaches past its parent", at: base + at) }
            count += 1
            guard count <= limit else { throw Malformed("too many boxes", at: base + at) }
            try visit(type, span.extracting(at..<at + size), span.extracting(at + 8..<at + size), base + at + 8)
            at += size
        }
    }
}

extension Malformed {
    /// The same fault, its place counted from a point `base` bytes further to the front.
    func moved(by base: Int) -> Malformed { Malformed(what, at: base + offset) }
}
