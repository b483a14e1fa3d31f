package import CarrelBytes
import CarrelStore
package import CarrelSubscription
import CarrelThreads

/// The products of the catalog, remembered for a second.
package final class ProductCatalog: Sendable {
    private struct State {
        var products = Products([])
        var readAt: Instant?
    }

    /// How long the products are believed without asking the database.
    private static let life = Duration.seconds(1)

    private let clock: any WallClock
    private let read: @Sendable () async throws -> [Product]
    private let state = Locked(State())

    /// A catalog whose products `read` reads, all of them.
    package init(clock: any WallClock, read: @escaping @Sendable () async throws -> [Product]) {
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
        let products = Products(try await read())
        state.withLock {
            $0.products = products
            $0.readAt = now
        }
        return products
    }

    /// Reads the products again before the next answer.
    package func forget() {
        state.withLock { $0.readAt = nil }
    }
}
