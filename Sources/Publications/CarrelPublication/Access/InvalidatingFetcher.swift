// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A fetcher whose child can be replaced while the publication is open: after its file was rewritten, for example with a renewed
/// license.
///
/// Existing resources keep using their child: reads in progress finish, or fail with `resource.unavailable`.
public final class InvalidatingFetcher: Fetcher, DocumentedFetcher, WrappingFetcher {
    private let child: Locked<any Fetcher>
    var documents: ContainerDocuments { current.containerDocuments }
    var wrapped: any Fetcher { current }
    private let recreate: @Sendable (any Fetcher) -> any Fetcher

    /// Creates a fetcher that can be replaced.
    ///
    /// - Parameters:
    ///   - fetcher: the first child.
    ///   - invalidate: creates the next child from the current one, which is still open at that time.
    public init(fetcher: any Fetcher, invalidate: @escaping @Sendable (any Fetcher) -> any Fetcher) {
        child = Locked(fetcher)
        recreate = invalidate
    }

    /// Creates the next child, replaces the current one with it, and closes the old one unless both are the same.
    public func invalidate() {
        while true {
            let old = current
            let new = recreate(old)
            let isReplaced = child.withLock { child in
                guard child === old else { return false }
                child = new
                return true
            }
            // another task was quicker: our child is of a file that may have changed again
            if new === old { return }
            if isReplaced { return old.close() }
            new.close()
        }
    }

    public func links() async throws(ResourceError) -> [Link] { try await current.links() }

    public func paths() async throws(ResourceError) -> [ResourcePath] { try await current.paths() }

    public func get(_ link: Link) -> any Resource { current.get(link) }

    public func storedLength(of link: Link) -> LengthHint? { current.storedLength(of: link) }

    public func close() { current.close() }

    private var current: any Fetcher { child.withLock { $0 } }
}
