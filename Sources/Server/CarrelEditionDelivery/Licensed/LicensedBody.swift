// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP

/// Sends a range of a protected file, whose contents are encrypted as the connection takes them.
final class LicensedBody: BodySource, @unchecked Sendable {  // one connection's thread reads, as BodySource promises
    private let file: LicensedFile
    private let tags: LicensedTags
    /// The bytes that are left.
    private var range: Range<Int64>
    /// The contents from the current byte on; nil until they are reached.
    private var contents: LicensedContents?

    /// - Parameters:
    ///   - file: the file.
    ///   - tags: its box of tags.
    ///   - range: the range of the whole file to send.
    init(_ file: LicensedFile, _ tags: LicensedTags, _ range: Range<Int64>) {
        (self.file, self.tags, self.range) = (file, tags, range)
    }

    func read(into out: inout OutputRawSpan) throws {
        while !range.isEmpty, out.freeCapacity > 0 {
            let before = out.byteCount
            try readPart(into: &out)
            range = range.lowerBound + Int64(out.byteCount - before)..<range.upperBound
        }
    }

    /// Appends bytes of the part of the file in which the next byte is.
    private func readPart(into out: inout OutputRawSpan) throws {
        let (start, head, box) = (range.lowerBound, Int64(file.head.count), file.tagsOffset)
        if start < head {
            append(file.head, Int(start)..<Int(min(head, range.upperBound)), to: &out)
        } else if start < box {
            if contents == nil { contents = try LicensedContents(of: file, from: start - head) }
            try contents?.read(upTo: min(box, range.upperBound) - head, into: &out)
        } else if start < box + Int64(tags.head.count) {
            append(tags.head, Int(start - box)..<Int(min(box + Int64(tags.head.count), range.upperBound) - box), to: &out)
        } else {
            let first = box + Int64(tags.head.count)
            try tags.file.read(start - first..<range.upperBound - first, into: &out)
        }
    }

    private func append(_ bytes: [UInt8], _ range: Range<Int>, to out: inout OutputRawSpan) {
        for byte in bytes[range].prefix(out.freeCapacity) { out.append(byte) }
    }
}

/// The box of integrity tags after the contents of a protected file.
struct LicensedTags: Sendable {
    /// The bytes of the box before the tags.
    let head: [UInt8]
    /// The tags.
    let file: OpenFile

    /// Bytes of the box.
    var length: Int64 { Int64(head.count) + file.size }
}
