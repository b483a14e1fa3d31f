// SPDX-License-Identifier: Apache-2.0

/// Something that knows more about a publication than its manifest says, such as its protection, cover or positions.
public protocol PublicationService: AnyObject, Sendable {
    /// Links that the service adds to the publication, below `~readium/`.
    var links: [Link] { get }

    /// The resource of one of its links.
    ///
    /// - Parameter link: any link of the publication.
    /// - Returns: nil for other links.
    func get(_ link: Link) -> (any Resource)?

    /// Releases the service's resources. Called once, when the publication is closed; does nothing by default.
    func close()
}

extension PublicationService {
    public var links: [Link] { [] }
    public func get(_ link: Link) -> (any Resource)? { nil }
    public func close() {}
}

/// A service that renders resources from the content; a restricted publication does not list their links.
package protocol RenderingService: PublicationService {}

/// Makes a service for a publication; nil when that does not need it.
public typealias PublicationServiceFactory = @Sendable (PublicationServiceContext) -> (any PublicationService)?

/// The parts of a publication that a service may use.
public struct PublicationServiceContext: Sendable {
    /// The manifest of the publication.
    public let manifest: Manifest
    /// Reads the publication's resources.
    public let fetcher: any Fetcher

    /// - Parameters:
    ///   - manifest: the manifest of the publication.
    ///   - fetcher: reads the resources.
    package init(manifest: Manifest, fetcher: any Fetcher) {
        self.manifest = manifest
        self.fetcher = fetcher
    }
}
