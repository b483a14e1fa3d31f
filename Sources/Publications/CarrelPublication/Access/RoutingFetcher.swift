// SPDX-License-Identifier: Apache-2.0

/// Routes each link to the first of several fetchers that accepts it: for resources in an archive and on a server.
public final class RoutingFetcher: Fetcher {
    /// A fetcher and the links that are its own.
    public struct Route: Sendable {
        let fetcher: any Fetcher
        let accepts: @Sendable (Link) -> Bool

        /// Creates a route.
        ///
        /// - Parameters:
        ///   - fetcher: the fetcher of the accepted links.
        ///   - accepts: whether a link belongs to the route; by default every link does.
        public init(_ fetcher: any Fetcher, accepts: @escaping @Sendable (Link) -> Bool = { _ in true }) {
            self.fetcher = fetcher
            self.accepts = accepts
        }
    }

    private let routes: [Route]

    /// Creates a fetcher over routes.
    ///
    /// - Parameter routes: in order of precedence; the first that accepts a link serves it.
    public init(_ routes: [Route]) {
        self.routes = routes
    }

    /// Routes absolute addresses to one fetcher, and relative addresses to another.
    ///
    /// - Parameters:
    ///   - local: the fetcher for relative addresses.
    ///   - remote: the fetcher for absolute addresses.
    public convenience init(local: any Fetcher, remote: any Fetcher) {
        self.init([Route(local) { !ResourcePath.hasScheme($0.href) }, Route(remote)])
    }

    public func links() async throws(ResourceError) -> [Link] {
        var links: [Link] = []
        for route in routes { links += try await route.fetcher.links().filter(route.accepts) }
        return links
    }

    public func get(_ link: Link) -> any Resource {
        routes.first { $0.accepts(link) }?.fetcher.get(link) ?? FailingResource.notFound(link)
    }

    public func storedLength(of link: Link) -> LengthHint? {
        routes.first { $0.accepts(link) }?.fetcher.storedLength(of: link)
    }

    public func close() {
        for route in routes { route.fetcher.close() }
    }
}
