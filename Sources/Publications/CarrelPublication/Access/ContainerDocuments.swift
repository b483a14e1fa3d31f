// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// The documents of a container that several readers want while it is opened: each is read and parsed once.
final class ContainerDocuments: Sendable {
    private let encryptionDocument = AsyncLazy<EncryptionDocument>()
    private let manifestDocument = AsyncLazy<ManifestDocument>()

    /// `META-INF/encryption.xml`; empty if there is none.
    func encryption(_ fetcher: any Fetcher) async throws(ResourceError) -> EncryptionDocument {
        try await encryptionDocument.value { () async throws(ResourceError) in try await EncryptionDocument.read(fetcher) }
    }

    /// `manifest.json`, or the JSON document that is all there is.
    func manifest(_ fetcher: any Fetcher) async throws(ResourceError) -> ManifestDocument {
        try await manifestDocument.value { () async throws(ResourceError) in try await ManifestDocument.read(fetcher) }
    }
}

/// A fetcher that remembers the documents of its container.
protocol DocumentedFetcher: Fetcher {
    var documents: ContainerDocuments { get }
}

extension Fetcher {
    /// The documents of its container; new ones if the fetcher does not cache them.
    var containerDocuments: ContainerDocuments { (self as? any DocumentedFetcher)?.documents ?? ContainerDocuments() }
}

/// A JSON document of a container.
enum ManifestDocument: Sendable {
    case missing
    case json(JSON)
    /// It exists but cannot be read.
    case broken(ResourceError)

    static let path: ResourcePath = "manifest.json"

    var json: JSON? { if case .json(let json) = self { json } else { nil } }

    /// Whether any link says that it is encrypted by Readium LCP.
    var isLCP: Bool {
        let links = ["readingOrder", "spine", "resources"].flatMap { json?[$0]?.array ?? [] }
        return links.contains { $0["properties"]?["encrypted"]?["scheme"]?.string == Encryption.lcpScheme }
    }

    /// - Throws: `resource.unavailable` and `resource.cancelled`: another time it may be read.
    static func read(_ fetcher: any Fetcher) async throws(ResourceError) -> ManifestDocument {
        let resource = (fetcher as? SingleResourceFetcher)?.resource ?? fetcher.get(Link(path))
        do throws(ResourceError) {
            let bytes = try await resource.read(upTo: Manifest.limits.byteCount)
            do throws(Malformed) {
                return .json(try JSON.parse(bytes.rawSpan, limits: Manifest.limits))
            } catch {
                return .broken(ResourceError(.malformed, "\"\(resource.link.href)\" cannot be read: \(error)"))
            }
        } catch {
            switch error.code {
            case .notFound: return .missing
            case .unavailable, .cancelled: throw error
            default: return .broken(error)
            }
        }
    }
}
