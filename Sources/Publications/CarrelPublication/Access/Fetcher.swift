// SPDX-License-Identifier: Apache-2.0

/// Gives access to the resources of a container: a folder, an archive, a server.
public protocol Fetcher: AnyObject, Sendable {
    /// The links that it is known to hold; empty if they cannot be listed, as of a server.
    ///
    /// - Returns: links whose addresses are relative to the container.
    /// - Throws: ``ResourceError``.
    func links() async throws(ResourceError) -> [Link]

    /// The paths of `links()`.
    ///
    /// - Returns: in the order of `links()`.
    /// - Throws: ``ResourceError``.
    func paths() async throws(ResourceError) -> [ResourcePath]

    /// The resource that a link leads to. Nothing is read yet: one that is not there fails when it is read.
    ///
    /// - Parameter link: of the manifest or of `links()`; its query and fragment do not count.
    /// - Returns: a resource that the caller closes.
    func get(_ link: Link) -> any Resource

    /// How many bytes a resource takes in its container, packed and encrypted as it lies there, where that is known without
    /// asking: from an archive's directory, or of a file.
    ///
    /// - Parameter link: as for `get(_:)`.
    /// - Returns: nil if it is not known, as of a server.
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
    /// - Parameter href: percent-encoded where it must be (RFC 3986).
    /// - Returns: as `get(_:)` with a link.
    public func get(_ href: String) -> any Resource { get(Link(href: href)) }
}
