// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A box of a file, by its header (ISO/IEC 14496-12 §4.2).
package struct MP4Box: Sendable {
    /// Which box.
    package let type: FourCC
    /// The offset of its header.
    package let start: Int64
    /// Its content, in bytes of the file. Of a box that the file's end cuts off, only the existing part.
    package let content: Range<Int64>
    /// Whether the box is longer than its parent.
    package let isCut: Bool

    /// No parent has more boxes than this.
    package static let limit = 100_000

    /// Reads the box header at `start`.
    ///
    /// - Parameters:
    ///   - window: reads the file.
    ///   - start: the offset of the header.
    ///   - parent: the range that contains the box.
    /// - Throws: the errors of the reader; `Malformed` if the header is damaged.
    package init(_ window: inout FileWindow, at start: Int64, in parent: Range<Int64>) throws {
        guard parent.upperBound - start >= 8 else { throw Malformed("box header is cut off", at: Int(start)) }
        self.start = start
        var size = UInt64(try window.u32(at: start, "box"))
        type = FourCC(try window.u32(at: start + 4, "box"))
        var header: Int64 = 8
        if size == 1 {
            guard parent.upperBound - start >= 16 else { throw Malformed("box header is cut off", at: Int(start)) }
            size = try window.u64(at: start + 8, "box")
            header = 16
        }
        let room = UInt64(parent.upperBound - start)
        if size == 0 { size = room }
        guard size >= UInt64(header) else { throw Malformed("box \(type) is smaller than its header", at: Int(start)) }
        isCut = size > room
        content = start + header..<start + Int64(min(size, room))
    }

    /// Calls `visit` with each box of `parent`.
    ///
    /// - Throws: the errors of `visit`; if a box does not fit into its parent or there are too many.
    package static func forEach(
        in parent: Range<Int64>,
        _ window: inout FileWindow,
        _ visit: (MP4Box, inout FileWindow) throws -> Void
    )
        throws
    {
        var at = parent.lowerBound
        var count = 0
        // fewer bytes than a header: QuickTime ends some lists with four zeros
        while parent.upperBound - at >= 8 {
            let box = try MP4Box(&window, at: at, in: parent)
            if box.isCut { throw Malformed("box \(box.type) reaches past its parent", at: Int(at)) }
            count += 1
            if count > limit { throw Malformed("too many boxes", at: Int(at)) }
            try visit(box, &window)
            at = box.content.upperBound
        }
    }

    /// The content as bytes, refused when longer than `limit`.
    package func load(_ reader: any ByteReader, limit: Int) throws -> [UInt8] {
        guard content.count <= limit else { throw Malformed("box \(type) is too large", at: Int(content.lowerBound)) }
        return try reader.readAll(content)
    }
}

/// Boxes in memory.
package enum MemoryBoxes {
    /// Calls `visit` with the type and content of each box of `span`; one that does not fit ends it.
    package static func forEach(in span: RawSpan, _ visit: (FourCC, RawSpan) -> Void) {
        var at = 0
        while span.byteCount - at >= 8 {
            let size = Int(span.u32(at: at))
            guard size >= 8, size <= span.byteCount - at else { return }
            visit(FourCC(span.u32(at: at + 4)), span.extracting(at + 8..<at + size))
            at += size
        }
    }
}
