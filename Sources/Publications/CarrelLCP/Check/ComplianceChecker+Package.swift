// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelPublication

extension ComplianceChecker {
    /// Paths of resources that must not be encrypted (LCP 1.0 §2.2).
    private static let clear: [ResourcePath] = [
        "mimetype", "META-INF/container.xml", "META-INF/encryption.xml", "META-INF/manifest.xml", "META-INF/metadata.xml",
        "META-INF/rights.xml", "META-INF/signatures.xml", "META-INF/license.lcpl", "license.lcpl", "manifest.json",
    ]
    /// Extensions of resources that must not be encrypted.
    private static let clearExtensions: Set<String> = ["opf", "ncx"]

    /// Whether a package is encrypted as LCP says.
    func checkPackage(_ asset: PublicationAsset, _ fetcher: any Fetcher, _ report: inout ComplianceReport) async {
        let encrypted: [ResourcePath: Encryption]
        let entries: Set<ResourcePath>
        do throws(ResourceError) {
            entries = Set(try await fetcher.paths())
            encrypted = try await fetcher.encryptedResources().filter(\.value.isLCP)
        } catch {
            return report.add("package.encryption", error.message)
        }
        report.add("package.encryption", await encryptionFault(encrypted, entries, fetcher))
        let publication: Publication
        do throws(Publication.OpeningError) {
            publication = try await Streamer(onAskCredentials: nil).open(asset: asset, allowUserInteraction: false)
        } catch {
            return report.add("package.publication", error.message)
        }
        defer { publication.close() }
        report.add("package.publication", nil)
        report.add("package.clear", clearFault(Set(encrypted.keys), publication))
        report.add("package.codecs", codecFault(encrypted, publication))
    }

    private func encryptionFault(
        _ encrypted: [ResourcePath: Encryption],
        _ entries: Set<ResourcePath>,
        _ fetcher: any Fetcher
    ) async -> String? {
        if encrypted.isEmpty { return "nothing in it is encrypted" }
        for (path, encryption) in encrypted.sorted(by: { $0.key.string < $1.key.string }) {
            guard entries.contains(path) else { return "\"\(path)\" is said to be encrypted and is not there" }
            guard encryption.algorithm == Encryption.aes256CBC else { return "\"\(path)\" has another cipher than AES-256" }
            if encryption.isDeflated, encryption.originalLength == nil {
                return "\"\(path)\" is packed and does not say how long it was"
            }
            do throws(ResourceError) {
                let size = try await fetcher.get(Link(path)).length()
                if size < 32 || size % 16 != 0 { return "\"\(path)\" is said to be encrypted and is not" }
            } catch {
                return error.message
            }
        }
        return nil
    }

    private func clearFault(_ encrypted: Set<ResourcePath>, _ publication: Publication) -> String? {
        var forbidden = Set(Self.clear)
        for relation in ["contents", "cover"] {
            forbidden.formUnion(publication.links(withRelation: relation).compactMap(\.path))
        }
        let violations = encrypted.filter { forbidden.contains($0) || Self.clearExtensions.contains($0.fileExtension ?? "") }
        return violations.map(\.string).min().map { "\"\($0)\" must not be encrypted" }
    }

    /// Audio, images, video and PDF are already compressed, and must be encrypted without deflating.
    private func codecFault(_ encrypted: [ResourcePath: Encryption], _ publication: Publication) -> String? {
        for link in publication.readingOrder + publication.manifest.resources {
            guard let path = link.path, let encryption = encrypted[path], encryption.isDeflated, let type = link.mediaType else {
                continue
            }
            if ["audio", "video", "image"].contains(type.type) && type.essence != "image/svg+xml"
                || type.essence == "application/pdf"
            {
                return "\"\(path)\" was packed before it was encrypted"
            }
        }
        return nil
    }
}
