/// A part of another resource, as a resource: what is stored in an archive without being packed.
final class SliceResource: Resource {
    let link: Link
    private let whole: any Resource
    private let part: Range<Int64>

    /// - Parameters:
    ///   - link: of the part.
    ///   - whole: what it is a part of; stays open when this is closed.
    ///   - part: where it lies; the resource must have these bytes.
    init(_ link: Link, of whole: any Resource, _ part: Range<Int64>) {
        self.link = link
        self.whole = whole
        self.part = part
    }

    func length() async throws(ResourceError) -> Int64 { Int64(part.count) }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<Int64(part.count))
        guard !range.isEmpty else { return }
        let before = buffer.count
        try await whole.read(part.lowerBound + range.lowerBound..<part.lowerBound + range.upperBound, into: &buffer)
        guard buffer.count - before == range.count else {
            throw ResourceError(.malformed, "\"\(link.href)\" is cut off")
        }
    }
}
