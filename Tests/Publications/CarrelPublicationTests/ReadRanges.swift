// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

@testable import CarrelPublication

/// Notes which ranges are read of a resource.
final class ReadRanges: Resource {
    var link: Link { resource.link }
    private let resource: any Resource
    private let noted = Locked<[Range<Int64>]>([])

    init(_ resource: any Resource) {
        self.resource = resource
    }

    var ranges: [Range<Int64>] { noted.withLock { $0 } }
    var byteCount: Int64 { ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }

    func length() async throws(ResourceError) -> Int64 { try await resource.length() }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        noted.withLock { $0.append(range) }
        try await resource.read(range, into: &buffer)
    }
}
