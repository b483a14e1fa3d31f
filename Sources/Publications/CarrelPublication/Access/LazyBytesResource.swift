// SPDX-License-Identifier: Apache-2.0

/// A small resource that is made at its first use.
final class LazyBytesResource: Resource {
    let link: Link
    private let bytes = AsyncLazy<[UInt8]>()
    private let make: @Sendable () async throws(ResourceError) -> [UInt8]

    init(_ link: Link, _ make: @escaping @Sendable () async throws(ResourceError) -> [UInt8]) {
        self.link = link
        self.make = make
    }

    func length() async throws(ResourceError) -> Int64 { Int64(try await bytes.value(make).count) }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let bytes = try await bytes.value(make)
        let range = range.clamped(to: 0..<Int64(bytes.count))
        buffer += bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }
}
