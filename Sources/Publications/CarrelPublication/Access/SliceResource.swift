// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A part of another resource, such as an uncompressed entry of an archive.
final class SliceResource: Resource {
    let link: Link
    private let whole: any Resource
    private let part: Range<Int64>
    /// The first bytes, until they were read once.
    private let head: Locked<[UInt8]>

    /// - Parameters:
    ///   - link: the part's link.
    ///   - whole: the resource that contains it; stays open when this resource is closed.
    ///   - part: its byte range, which must exist in the resource.
    ///   - head: its first bytes, if already read.
    init(_ link: Link, of whole: any Resource, _ part: Range<Int64>, head: [UInt8] = []) {
        self.link = link
        self.whole = whole
        self.part = part
        self.head = Locked(head)
    }

    func length() async throws(ResourceError) -> Int64 { part.upperBound - part.lowerBound }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<part.upperBound - part.lowerBound)
        guard !range.isEmpty else { return }
        if let bytes = bytes(range) {
            buffer += bytes
            return
        }
        let (before, count) = (buffer.count, Int(range.upperBound - range.lowerBound))
        try await whole.read(part.lowerBound + range.lowerBound..<part.lowerBound + range.upperBound, into: &buffer)
        guard buffer.count - before == count else {
            throw ResourceError(.malformed, "\"\(link.href)\" is cut off")
        }
    }

    /// The bytes of a range that lies in the head, which goes when it was read to its end.
    private func bytes(_ range: Range<Int64>) -> ArraySlice<UInt8>? {
        head.withLock { head in
            guard range.upperBound <= Int64(head.count) else { return nil }
            let bytes = head[Int(range.lowerBound)..<Int(range.upperBound)]
            if range.lowerBound == 0, range.upperBound == Int64(head.count) { head = [] }
            return bytes
        }
    }
}
