// SPDX-License-Identifier: Apache-2.0

/// Keeps a small resource in memory after its first read: for resources that can only be read as a whole.
///
/// Longer resources are not kept, but read from the child each time.
public final class CachingResource: Resource {
    public var link: Link { resource.link }

    private let resource: any Resource
    private let limit: Int
    private let whole = AsyncLazy<[UInt8]>()

    /// Creates a cache for a resource.
    ///
    /// - Parameters:
    ///   - resource: the resource; closed with the cache.
    ///   - limit: the maximum number of bytes to keep.
    public init(_ resource: any Resource, limit: Int = 1 << 20) {
        self.resource = resource
        self.limit = limit
    }

    public func length() async throws(ResourceError) -> Int64 {
        let bytes = try await kept()
        return bytes.count > limit ? try await resource.length() : Int64(bytes.count)
    }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let bytes = try await kept()
        guard bytes.count <= limit else { return try await resource.read(range, into: &buffer) }
        let range = range.clamped(to: 0..<Int64(bytes.count))
        buffer += bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }

    public func close() { resource.close() }

    /// The bytes; one more than the limit when there are too many.
    private func kept() async throws(ResourceError) -> [UInt8] {
        let (resource, limit) = (resource, limit)
        return try await whole.value { () async throws(ResourceError) in try await resource.read(0..<Int64(limit) + 1) }
    }
}
