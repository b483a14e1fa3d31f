// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
package import CarrelMP4

/// One box of a file, with the boxes in it.
package struct BoxTree: Sendable {
    /// The four-character type; for `uuid` boxes, such as PIFF's, followed by the extended type.
    package var type: String
    /// The offset of its header.
    package var offset: Int64
    /// Bytes, header and all.
    package var size: Int64
    /// The child boxes, if it is a container box.
    package var boxes: [BoxTree]

    private static let containers: Set<String> = [
        "moov", "trak", "mdia", "minf", "stbl", "dinf", "edts", "mvex", "moof", "traf", "mfra", "udta", "odrm", "odhe", "sinf",
        "schi",
        "tref", "mdri", "meco", "strk", "wave",
    ]
    private static let depthLimit = 16

    /// Reads the boxes at the top of a file, and those in them.
    ///
    /// - Parameters:
    ///   - reader: the file.
    ///   - limit: boxes, at most; the others are left out.
    /// - Returns: the boxes in file order, and whether some were left out.
    /// - Throws: the errors of the reader; `Malformed` if a box is damaged.
    package static func read(_ reader: any ByteReader, limit: Int = 5000) throws -> (boxes: [BoxTree], isCut: Bool) {
        var remaining = limit
        var window = FileWindow(reader)
        let boxes = try read(0..<reader.length, depth: 0, remaining: &remaining, &window)
        return (boxes, remaining < 0)
    }

    private static func read(
        _ range: Range<Int64>,
        depth: Int,
        remaining: inout Int,
        _ window: inout FileWindow
    ) throws -> [BoxTree] {
        var boxes: [BoxTree] = []
        var at = range.lowerBound
        while range.upperBound - at >= 8, remaining >= 0 {
            let box = try MP4Box(&window, at: at, in: range)
            at = box.content.upperBound
            remaining -= 1
            guard remaining >= 0 else { break }
            var tree = BoxTree(type: "\(box.type)", offset: box.start, size: box.content.upperBound - box.start, boxes: [])
            if let children = try children(of: box, &window), depth < depthLimit {
                tree.boxes = try read(children, depth: depth + 1, remaining: &remaining, &window)
            }
            boxes.append(tree)
        }
        return boxes
    }

    /// The bytes of the boxes in a box; nil if it holds none.
    private static func children(of box: MP4Box, _ window: inout FileWindow) throws -> Range<Int64>? {
        let type = "\(box.type)"
        var skipped: Int64
        switch type {
        case "odrm": skipped = 4
        case "odhe":
            guard box.content.count > 5 else { return nil }
            skipped = 5 + Int64(try window.u8(at: box.content.lowerBound + 4, "content type"))
        case "stsd", "dref": skipped = 8
        case "meta":
            guard box.content.count >= 8 else { return nil }
            // a full box, except in QuickTime files
            skipped = try FourCC(window.u32(at: box.content.lowerBound + 4, "metadata")) == "hdlr" ? 0 : 4
        case "encv", "avc1", "avc3", "hvc1", "hev1": skipped = 78
        case "enca", "mp4a", "ac-3", "ec-3", "fLaC", "Opus":
            guard box.content.count >= 10 else { return nil }
            let layout = try window.u16(at: box.content.lowerBound + 8, "sample entry")
            skipped = layout == 1 ? 44 : layout == 2 ? 64 : 28
        case "wvtt", "encs", "enct": skipped = 8
        default:
            guard containers.contains(type) else { return nil }
            skipped = 0
        }
        skipped = min(skipped, Int64(box.content.count))
        return box.content.lowerBound + skipped..<box.content.upperBound
    }
}
