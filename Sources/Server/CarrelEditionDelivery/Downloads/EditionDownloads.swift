// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
package import CarrelHome
import CarrelStore
import CarrelSubscription
package import CarrelWebAPI
import CarrelWorks

/// Downloads of editions: resources, the package of all, the manifest that apps read first, the cover.
package struct EditionDownloads: Sendable {
    let open: OpenEditionCache
    let titles: Titles
    let licensed: LicensedFiles
    let clock: any WallClock

    /// The resource that a path below an edition's address means.
    enum Item: Sendable {
        case resource(EditionResource)
        /// The blob as a whole.
        case package
        case manifest
        case cover
        /// The protected file, which everyone may download.
        case licensed
        /// The page that an edition opens with, elsewhere.
        case redirect(String)
    }

    /// An item and its required entitlement.
    struct Found: Sendable {
        let opened: OpenEditionCache.Opened
        let item: Item
        let access: EditionAccess

        var edition: Edition { opened.edition }
    }

    /// Finds the resource of a path.
    ///
    /// - Parameters:
    ///   - productID: the product id of the route.
    ///   - path: the path below the edition's address, decoded; empty for the address itself, nil for the address without its last slash.
    /// - Returns: nil if there is none.
    /// - Throws: errors of the database and the blob store.
    func find(_ productID: String, _ path: String?) async throws -> Found? {
        for _ in 0..<3 {
            do { return try await findOnce(productID, path) } catch is OpenEditionCache.Changed { continue }
        }
        throw Self.changing
    }

    private static let changing = RuleError(
        .unavailable,
        "edition.changing",
        "the edition is being updated: retry in 1 s",
        retryAfter: 1
    )

    private func findOnce(_ productID: String, _ path: String?) async throws -> Found? {
        let now = clock.now
        guard let opened = try await open.edition(productID, at: now) else { return nil }
        let edition = opened.edition
        func found(_ item: Item, isSample: Bool = false, isClear: Bool = true) -> Found {
            Found(opened: opened, item: item, access: EditionAccess(edition, isSample: isSample, isClear: isClear))
        }
        switch path {
        case "-/cover": return edition.title.cover == nil ? nil : found(.cover, isSample: true, isClear: false)
        case Edition.licensedPath:
            return edition.licensedFile == nil ? nil : found(.licensed, isSample: true, isClear: false)
        case "-/manifest.xml": return found(.manifest)
        case "-/package.zip": return edition.title.kind == .edition ? found(.package) : nil
        case nil, "":
            guard let entry = try await open.resource(edition.entry, of: edition, at: now) else { return nil }
            // Links in a page are relative to its own address.
            let isAtHome = path != nil && !entry.path.contains("/")
            return found(
                isAtHome || edition.title.kind != .edition ? .resource(entry) : .redirect(entry.path),
                isSample: entry.isSample
            )
        case let path?:
            guard let resource = try await open.resource(path, of: edition, at: now) else { return nil }
            return found(.resource(resource), isSample: resource.isSample)
        }
    }

    /// The item as a response.
    func response(_ found: Found, base: String, to request: HTTPRequest) async throws -> HTTPResponse {
        var response = try await bareResponse(found, base: base, to: request)
        response.headers["Content-Security-Policy"] = Self.policy(of: found.item)
        return response
    }

    private func bareResponse(_ found: Found, base: String, to request: HTTPRequest) async throws -> HTTPResponse {
        let (edition, file) = (found.edition, found.opened.file)
        let caching = found.access == .open ? "public, max-age=300" : "private, no-cache"
        switch found.item {
        case .resource(let resource):
            try requireWhole(found.opened, upTo: resource.offset + resource.byteCount)
            return HTTPResponse.serving(
                Representation(
                    length: resource.byteCount,
                    contentType: resource.mediaType,
                    etag: "\"\(resource.digest)\"",
                    lastModified: edition.contentAt
                ) { .file(file, resource.offset + $0.lowerBound..<resource.offset + $0.upperBound) },
                for: request,
                headers: Self.headers(resource, of: edition, caching)
            )
        case .package:
            try requireWhole(found.opened, upTo: edition.byteCount)
            return HTTPResponse.serving(
                Representation(
                    length: edition.byteCount,
                    contentType: "application/zip",
                    etag: "\"\(edition.mediaBlob.prefix(32))\"",
                    lastModified: edition.contentAt
                ) { .file(file, $0) },
                for: request,
                headers: ["Cache-Control": caching]
            )
        case .manifest:
            let bytes = PackageManifest(edition, base: base + edition.path).write()
            return HTTPResponse.serving(
                Representation(bytes, contentType: PackageManifest.mediaType, etag: EntityTag(of: bytes).description),
                for: request,
                headers: ["Cache-Control": caching]
            )
        case .cover:
            guard let cover = edition.title.cover else { throw Self.missing }
            return try await titles.blobResponse(
                cover.blob,
                mediaType: cover.mediaType,
                request: request,
                cacheControl: "public, max-age=3600"
            )
        case .licensed:
            let served = try await protectedFile(found)
            let name = edition.entry.replacing("\"", with: "'")
            return HTTPResponse.serving(
                Representation(
                    length: served.length,
                    contentType: edition.licensedFile?.type ?? "",
                    etag: "\"\(served.file.digest.prefix(32))\""
                ) { .pull(length: $0.count, LicensedBody(served.file, served.tags, $0)) },
                for: request,
                headers: ["Cache-Control": caching, "Content-Disposition": "attachment; filename=\"\(name).dcf\""]
            )
        case .redirect(let path):
            let parts = path.split(separator: "/").map { PercentEncoding.encode(String($0)) }
            // Relative to the address, which may be below a proxy's own path: "book" and "book/" differ in it.
            let start = request.path.raw.hasSuffix("/") ? "" : "\(PercentEncoding.encode(edition.productID))/"
            var response = HTTPResponse.redirect(to: start + parts.joined(separator: "/"), status: .found)
            response.headers["Cache-Control"] = caching
            return response
        }
    }

    /// The protected file. If its key was removed, the edition has changed by then, and is read again.
    private func protectedFile(_ found: Found) async throws -> LicensedFiles.Served {
        try requireWhole(found.opened, upTo: found.edition.byteCount)
        var opened = found.opened
        for _ in 0..<3 {
            do { return try await licensed.file(of: opened) } catch is OpenEditionCache.Changed {
                guard let again = try await open.edition(found.edition.productID, at: clock.now),
                    again.edition.licensedFile != nil
                else { break }
                opened = again
            }
        }
        throw Self.changing
    }

    /// Refuses to begin an answer that a file which was cut off cannot end. The file is opened again for the next request.
    private func requireWhole(_ opened: OpenEditionCache.Opened, upTo end: Int64) throws(StoreError) {
        guard opened.file.sizeNow < end else { return }
        open.forget(opened.edition.productID)
        throw StoreError(.damaged, "the blob \(opened.edition.mediaBlob) of \(opened.edition.productID) ends before byte \(end)")
    }

    /// Files of a publisher run nothing here, whatever type they have: they are not ours, and would be on our own origin.
    private static let policy =
        "default-src 'self' data:; script-src 'none'; style-src 'self' 'unsafe-inline'; connect-src 'none'; form-action 'none'; "
        + "base-uri 'none'; frame-ancestors 'self'"

    /// The policy for an item, also of an answer without a body. Chromium's viewer shows no PDF document in a sandbox.
    private static func policy(of item: Item) -> String {
        if case .resource(let resource) = item, resource.mediaType == "application/pdf" { return policy }
        return "sandbox allow-same-origin allow-popups; \(policy)"
    }

    private static func headers(_ resource: EditionResource, of edition: Edition, _ caching: String) -> HTTPFields {
        var headers: HTTPFields = ["Cache-Control": caching]
        if edition.title.kind == .ebook {
            // The id is visible ASCII: only quotes and backslashes need an escape, and the latter cannot be in it.
            headers["Content-Disposition"] = "attachment; filename=\"\(resource.path.replacing("\"", with: "'"))\""
        }
        return headers
    }

    package static let protected = RuleError(
        .forbidden,
        "edition.protected",
        "this edition is published as a protected file only: \(Edition.licensedPath) below its address"
    )
    package static let gone = RuleError(.gone, "edition.withdrawn", "this edition was withdrawn")
    package static let missing = ServerError(.notFound, "there is no such edition, or no resource at this path")
}
