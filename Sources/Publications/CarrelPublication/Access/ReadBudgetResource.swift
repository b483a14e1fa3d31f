// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A resource that shares a number of reads with others, and fails with `resource.too-large` when they are used up.
final class ReadBudgetResource: Resource, PackedResource {
    /// The number of remaining reads.
    typealias Budget = Locked<Int>

    var link: Link { resource.link }
    var lengthHint: LengthHint? { resource.lengthHint }
    private let resource: any Resource
    private let budget: Budget

    init(_ resource: any Resource, _ budget: Budget) {
        self.resource = resource
        self.budget = budget
    }

    func length() async throws(ResourceError) -> Int64 { try await resource.length() }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try count()
        try await resource.read(range, into: &buffer)
    }

    func deflated() async throws(ResourceError) -> DeflatedContent? {
        guard let packed = resource as? any PackedResource else { return nil }
        try count()
        return try await packed.deflated()
    }

    func close() { resource.close() }

    private func count() throws(ResourceError) {
        let left = budget.withLock { left in
            left -= 1
            return left
        }
        guard left >= 0 else { throw ResourceError(.tooLarge, "\"\(link.href)\" would take more reads than are made") }
    }
}
