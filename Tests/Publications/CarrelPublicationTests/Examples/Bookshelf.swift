// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelPublication
import Glibc

/// Opens a publication to read it. Prompts for a password if the publication needs it.
func openBook(at path: String, askForPassword: @escaping @Sendable (String) async -> String?) async throws -> Publication {
    let streamer = Streamer(onAskCredentials: { dialog, _ in await askForPassword(dialog.message.description) })
    return try await streamer.open(asset: PublicationAsset(path: path), allowUserInteraction: true)
}

/// Opens a publication for a shelf: no dialog, and restricted without its password if possible.
func shelfEntry(at path: String) async throws -> (title: String, isRestricted: Bool, cover: Cover?) {
    let publication = try await Streamer(onAskCredentials: nil)
        .open(asset: PublicationAsset(path: path), allowUserInteraction: false)
    defer { publication.close() }
    return (publication.metadata.title.description, publication.isRestricted, try await publication.cover())
}

/// The table of contents, two spaces for each level.
func outline(of publication: Publication) -> [String] {
    func lines(_ links: [Link], _ indent: String) -> [String] {
        links.flatMap { [indent + ($0.title ?? $0.href)] + lines($0.children, indent + "  ") }
    }
    return lines(publication.tableOfContents, "")
}

/// The length of each resource of the reading order, in bytes.
func lengths(of publication: Publication) async throws -> [(href: String, byteCount: Int64)] {
    var lengths: [(href: String, byteCount: Int64)] = []
    for link in publication.readingOrder {
        let resource = publication.get(link)
        defer { resource.close() }
        lengths.append((link.href, try await resource.length()))
    }
    return lengths
}

/// The first kilobyte of a resource.
func beginning(of href: String, in publication: Publication) async throws -> [UInt8] {
    let resource = publication.get(href)
    defer { resource.close() }
    return try await resource.read(0..<1024)
}

/// The number of bytes of a resource, read in pieces of at most 256 KiB.
func countBytes(of link: Link, in publication: Publication) async throws -> Int {
    let resource = publication.get(link)
    defer { resource.close() }
    var count = 0
    try await resource.stream { piece in count += piece.count }
    return count
}

/// Words of a publication with the text around them, as lines for a list of results.
func results(of query: String, in publication: Publication, limit: Int) async throws -> [String] {
    var lines: [String] = []
    for try await locator in publication.search(query) {
        lines.append((locator.text.before ?? "") + (locator.text.highlight ?? "") + (locator.text.after ?? ""))
        if lines.count == limit { break }
    }
    return lines
}

/// Downloads a package, so that it can be opened without a network.
func download(_ url: String, to path: String, client: HTTPClient) async throws -> Publication {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Publication.OpeningError(.unavailable, "cannot write \(path)") }
    defer { close(descriptor) }
    let response = try await client.download(ClientRequest(url, maxResponseBytes: 2 << 30), to: descriptor)
    guard response.status == .ok else { throw Publication.OpeningError(.unavailable, "status \(response.status.rawValue)") }
    return try await openBook(at: path) { _ in nil }
}
