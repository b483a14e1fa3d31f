// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelStore
package import CarrelSubscription
import CarrelThreads

/// The products of the catalog as they were within the last second, read again when they changed.
package final class ProductCatalogCache: Sendable {
    private struct State {
        var products = Products([])
        var mark: Mark?
        var readAt: Instant?
    }

    /// A value that differs after any change.
    package struct Mark: Sendable, Equatable {
        let count: Int64
        /// The sum of the editions' times of change.
        let sum: Int64
    }

    /// The time for which cached products are valid.
    private static let life = Duration.seconds(1)

    private let clock: any WallClock
    private let read: @Sendable (Mark?) async throws -> (products: [Product], mark: Mark)?
    private let state = Locked(State())

    /// Creates a cache; `read` returns all products, or nil if their mark is unchanged.
    package init(
        clock: any WallClock,
        read: @escaping @Sendable (Mark?) async throws -> (products: [Product], mark: Mark)?
    ) {
        self.clock = clock
        self.read = read
    }

    /// The products as they were within the last second.
    package func current() async throws -> Products {
        let now = clock.now
        let known = state.withLock { state -> Products? in
            guard let readAt = state.readAt, now >= readAt, now - readAt < Self.life else { return nil }
            return state.products
        }
        if let known { return known }
        guard let (found, mark) = try await read(state.withLock(\.mark)) else {
            return state.withLock {
                $0.readAt = now
                return $0.products
            }
        }
        let products = Products(found)
        state.withLock {
            $0.products = products
            $0.mark = mark
            $0.readAt = now
        }
        return products
    }

    /// Reads the products again before the next answer.
    package func forget() {
        state.withLock {
            $0.readAt = nil
            $0.mark = nil
        }
    }
}
