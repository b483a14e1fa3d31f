// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// An edition as entitlement sees it.
package struct Product: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable { case draft, published, withdrawn }

    /// The ID that apps request; the edition's ID in the feed.
    package let id: String
    package let issuedAt: Instant
    package let isFree: Bool
    package let state: State

    package init(id: String, issuedAt: Instant, isFree: Bool = false, state: State = .published) {
        self.id = id
        self.issuedAt = issuedAt
        self.isFree = isFree
        self.state = state
    }
}

/// The products of a catalog at one moment, by id and by date of issue.
package struct Products: Sendable {
    private let byID: [String: Product]
    /// The published products, the oldest first.
    package let published: [Product]

    package init(_ products: [Product]) {
        byID = Dictionary(products.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        published = products.filter { $0.state == .published }.sorted { ($0.issuedAt, $0.id) < ($1.issuedAt, $1.id) }
    }

    package subscript(id: String) -> Product? { byID[id] }

    /// The number of issues published from `end` up to and including this one.
    package func rank(of product: Product, from end: Instant) -> Int {
        let first = published.partitioningIndex { $0.issuedAt >= end }
        let place = published.partitioningIndex { ($0.issuedAt, $0.id) >= (product.issuedAt, product.id) }
        return max(0, place - first + 1)
    }
}

extension Array {
    /// The first index that satisfies a predicate, in an array that is partitioned by it.
    fileprivate func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
