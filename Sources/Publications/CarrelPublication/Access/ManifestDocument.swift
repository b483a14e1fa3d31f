// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// `manifest.json` of a container, or the JSON document that is the whole publication.
enum ManifestDocument: ContainerDocument {
    case missing
    case json(JSON)
    /// It is there and cannot be read.
    case broken(ResourceError)

    static let path: ResourcePath = "manifest.json"

    var json: JSON? { if case .json(let json) = self { json } else { nil } }

    /// Whether any link says that it is encrypted by Readium LCP.
    var isLCP: Bool {
        let links = ["readingOrder", "spine", "resources"].flatMap { json?[$0]?.array ?? [] }
        return links.contains { $0["properties"]?["encrypted"]?["scheme"]?.string == Encryption.lcpScheme }
    }

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
