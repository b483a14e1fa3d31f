// SPDX-License-Identifier: Apache-2.0

/// A package with a license that is stored separately, because the package is on a server or read-only.
///
/// The license has the path that it would have in the package: `META-INF/license.lcpl` of an EPUB, `license.lcpl` of others
/// (Readium LCP §2.5). It hides a license in the package.
public final class LicensedFetcher: Fetcher, DocumentedFetcher, WrappingFetcher {
    /// The path of the license.
    public let path: ResourcePath

    let documents: ContainerDocuments
    var wrapped: any Fetcher { child }
    private let child: any Fetcher
    private let license: [UInt8]

    /// Adds a license to a package, without changing its file.
    ///
    /// - Parameters:
    ///   - package: the package; closed with this fetcher.
    ///   - license: a license document.
    /// - Throws: errors of listing the package.
    public init(_ package: any Fetcher, license: [UInt8]) async throws(ResourceError) {
        child = package
        self.license = license
        documents = package.containerDocuments
        path = LicenseLocation(in: try await package.paths()).path
    }

    public func links() async throws(ResourceError) -> [Link] {
        try await child.links().filter { $0.path != path } + [Self.link(path)]
    }

    public func paths() async throws(ResourceError) -> [ResourcePath] {
        try await child.paths().filter { $0 != path } + [path]
    }

    public func get(_ link: Link) -> any Resource {
        link.path == path ? BytesResource(Self.link(path), license) : child.get(link)
    }

    public func storedLength(of link: Link) -> LengthHint? {
        link.path == path ? LengthHint(Int64(license.count)) : child.storedLength(of: link)
    }

    /// The length of the package in bytes, known from reading its archive's directory; nil otherwise.
    package func packageLength() async -> Int64? { try? await (child as? ArchiveFetcher)?.archive.length() }

    public func close() { child.close() }

    private static func link(_ path: ResourcePath) -> Link { Link(path, mediaType: Format.lcpLicense.mediaType) }
}
