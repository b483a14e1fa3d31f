// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// The resources of an opened publication, under its licenses: the first read of content counts a use, and nothing can be read after
/// the license has ended, from resources that were obtained earlier either.
final class GuardedFetcher: Fetcher {
    private let fetcher: any Fetcher
    private let access: LicenseAccess
    /// The protected resources; nil for all.
    private let protected: Set<ResourcePath>?
    private let isCounted: Bool

    /// - Parameters:
    ///   - fetcher: reads the clear resources; closed with this fetcher.
    ///   - access: the licenses.
    ///   - protected: the paths of protected resources; nil if all are.
    ///   - isCounted: whether reads count; false for the cover alone.
    init(_ fetcher: any Fetcher, _ access: LicenseAccess, protected: Set<ResourcePath>?, isCounted: Bool = true) {
        self.fetcher = fetcher
        self.access = access
        self.protected = protected
        self.isCounted = isCounted
    }

    func links() async throws(ResourceError) -> [Link] { try await fetcher.links() }

    func paths() async throws(ResourceError) -> [ResourcePath] { try await fetcher.paths() }

    func get(_ link: Link) -> any Resource {
        let resource = fetcher.get(link)
        // a missing resource fails without a play
        guard isProtected(link), !(resource is FailingResource) else { return resource }
        return GuardedResource(resource, access, entry: entry(link), isCounted: isCounted)
    }

    /// Whether a resource is under a license.
    func isProtected(_ link: Link) -> Bool {
        guard let protected else { return true }
        return link.path.map(protected.contains) ?? false
    }

    /// The protected entry of a link; nil in a publication with one license.
    func entry(_ link: Link) -> ResourcePath? { protected == nil ? nil : link.path }

    func storedLength(of link: Link) -> LengthHint? { fetcher.storedLength(of: link) }

    func close() { fetcher.close() }
}

/// A resource under the license of its publication.
final class GuardedResource: RevocableResource {
    var link: Link { resource.link }
    var lengthHint: LengthHint? { resource.lengthHint }

    private let resource: any Resource
    private let access: LicenseAccess
    private let entry: ResourcePath?
    private let isCounted: Bool

    /// - Parameters:
    ///   - resource: the clear resource.
    ///   - access: the licenses.
    ///   - entry: the entry that it is; nil in a publication with one license.
    ///   - isCounted: whether reads count.
    init(_ resource: any Resource, _ access: LicenseAccess, entry: ResourcePath?, isCounted: Bool) {
        self.resource = resource
        self.access = access
        self.entry = entry
        self.isCounted = isCounted
    }

    func checkAccess() throws(ResourceError) {
        try access.checkAccess(of: entry)
        try (resource as? any RevocableResource)?.checkAccess()
    }

    /// Opens the license; the headers of an entry name it.
    ///
    /// - Throws: `resource.forbidden` without the license; the errors of reading.
    func openLicense() async throws(ResourceError) {
        if access.use(of: entry) == nil { _ = try await resource.length() }
    }

    /// Checks the access; another license may have come for an entry whose license has ended.
    private func prepareAccess() async throws(ResourceError) {
        if let entry { await access.replaceEnded(at: entry) }
        try checkAccess()
    }

    func length() async throws(ResourceError) -> Int64 {
        try await prepareAccess()
        return try await resource.length()
    }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try await prepareAccess()
        if isCounted {
            try await openLicense()
            try await access.begin(entry)
        }
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
