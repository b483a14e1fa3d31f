// SPDX-License-Identifier: Apache-2.0

/// A resource that is in memory.
public final class BytesResource: Resource {
    public let link: Link
    private let bytes: [UInt8]

    /// Creates a resource over bytes in memory.
    ///
    /// - Parameters:
    ///   - link: the link that ``link`` returns; its media type is not checked.
    ///   - bytes: the whole content.
    public init(_ link: Link, _ bytes: [UInt8]) {
        self.link = link
        self.bytes = bytes
    }

    public func length() async throws(ResourceError) -> Int64 { Int64(bytes.count) }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<Int64(bytes.count))
        buffer += bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }
}
