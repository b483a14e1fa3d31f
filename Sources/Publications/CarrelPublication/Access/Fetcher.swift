// SPDX-License-Identifier: Apache-2.0

/// Gives access to the resources of a container: a folder, an archive, a server.
public protocol Fetcher: AnyObject, Sendable {
    /// The links of its resources; empty if they cannot be listed, as on a server.
    ///
    /// - Returns: links whose addresses are relative to the container.
    /// - Throws: ``ResourceError``.
    func links() async throws(ResourceError) -> [Link]

    /// The paths of `links()`.
    ///
    /// - Returns: in the order of `links()`.
    /// - Throws: ``ResourceError``.
    func paths() async throws(ResourceError) -> [ResourcePath]

    /// The resource that a link leads to. Nothing is read yet: a missing resource fails when it is read.
    ///
    /// - Parameter link: a link of the manifest or of `links()`; its query and fragment are ignored.
    /// - Returns: a resource that the caller closes.
    func get(_ link: Link) -> any Resource

    /// The stored size of a resource in its container, compressed and encrypted, if it is known without a request: from an
    /// archive's directory, or from a file.
    ///
    /// - Parameter link: a link as for `get(_:)`.
    /// - Returns: nil if unknown, as on a server.
    func storedLength(of link: Link) -> LengthHint?

    /// Ends connections. Reads in flight finish or fail with `resource.unavailable`. A file of the disk stays open for as long as
    /// a resource over it is held.
    func close()
}

extension Fetcher {
    public func paths() async throws(ResourceError) -> [ResourcePath] { try await links().compactMap(\.path) }

    public func storedLength(of link: Link) -> LengthHint? { nil }

    public func close() {}

    /// The resource at an address relative to the container.
    ///
    /// - Parameter href: the address, percent-encoded where required (RFC 3986).
    /// - Returns: the same as `get(_:)` with a link.
    public func get(_ href: String) -> any Resource { get(Link(href: href)) }
}
