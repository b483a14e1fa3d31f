// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// The resources of an opened publication, under its license: the first read of content counts a use, and nothing can be read after
/// the license has ended, from resources that were obtained earlier either.
final class GuardedFetcher: Fetcher {
    private let fetcher: any Fetcher
    private let access: LicenseAccess
    /// The protected resources; nil for all.
    private let protected: Set<ResourcePath>?
    /// Resources that count no use: the cover.
    private let free: Set<ResourcePath>

    /// - Parameters:
    ///   - fetcher: reads the clear resources; closed with this fetcher.
    ///   - access: the licenses.
    ///   - protected: the paths of protected resources; nil if all are.
    ///   - free: the paths of resources that count no use.
    init(_ fetcher: any Fetcher, _ access: LicenseAccess, protected: Set<ResourcePath>?, free: Set<ResourcePath>) {
        self.fetcher = fetcher
        self.access = access
        self.protected = protected
        self.free = free
    }

    func links() async throws(ResourceError) -> [Link] { try await fetcher.links() }

    func paths() async throws(ResourceError) -> [ResourcePath] { try await fetcher.paths() }

    func get(_ link: Link) -> any Resource {
        let resource = fetcher.get(link)
        if let protected, !(link.path.map(protected.contains) ?? false) { return resource }
        // a missing resource fails without a play
        if resource is FailingResource { return resource }
        return GuardedResource(resource, access, isCounted: !(link.path.map(free.contains) ?? false))
    }

    func storedLength(of link: Link) -> LengthHint? { fetcher.storedLength(of: link) }

    func close() { fetcher.close() }
}

/// A resource under the license of its publication.
private final class GuardedResource: RevocableResource {
    var link: Link { resource.link }
    var lengthHint: LengthHint? { resource.lengthHint }

    private let resource: any Resource
    private let access: LicenseAccess
    private let isCounted: Bool

    init(_ resource: any Resource, _ access: LicenseAccess, isCounted: Bool) {
        self.resource = resource
        self.access = access
        self.isCounted = isCounted
    }

    func checkAccess() throws(ResourceError) {
        try access.checkAccess()
        try (resource as? any RevocableResource)?.checkAccess()
    }

    func length() async throws(ResourceError) -> Int64 {
        try checkAccess()
        return try await resource.length()
    }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try checkAccess()
        if isCounted { try await access.begin() }
        let count = buffer.count
        try await resource.read(range, into: &buffer)
        do throws(ResourceError) { try checkAccess() } catch {
            // the license ended while the bytes came
            buffer.removeLast(buffer.count - count)
            throw error
        }
    }

    func close() { resource.close() }
}
