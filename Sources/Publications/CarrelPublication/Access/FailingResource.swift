// SPDX-License-Identifier: Apache-2.0

/// A resource that fails whenever it is read, for a known reason.
public final class FailingResource: Resource {
    public let link: Link
    private let error: ResourceError

    /// Creates a resource that throws on every read.
    ///
    /// - Parameters:
    ///   - link: the link that ``link`` returns.
    ///   - error: the error that ``length()`` and ``read(_:into:)`` throw.
    public init(_ link: Link, _ error: ResourceError) {
        self.link = link
        self.error = error
    }

    /// A resource that does not exist.
    public static func notFound(_ link: Link) -> FailingResource {
        FailingResource(link, ResourceError(.notFound, "\"\(link.href)\" is not in the publication"))
    }

    public func length() async throws(ResourceError) -> Int64 { throw error }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) { throw error }
}
