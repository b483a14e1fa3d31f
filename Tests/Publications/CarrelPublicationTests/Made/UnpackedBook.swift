// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

@testable import CarrelPublication

/// An unpacked EPUB around documents that a test has; its files are there as long as this is, so a suite keeps it.
struct UnpackedBook {
    private let directory = TemporaryDirectory()
    let warnings = WarningList()

    static let chapter = Array("<html/>".utf8)

    /// - Parameters:
    ///   - package: the package document, `EPUB/package.opf`.
    ///   - files: what else there is, by its place.
    /// - Returns: the publication; what is wrong with it is in `warnings`.
    /// - Throws: `Publication.OpeningError`.
    func open(_ package: [UInt8], _ files: [String: [UInt8]] = [:]) async throws -> Publication {
        var all = ["META-INF/container.xml": Array(MadeArchive.container.utf8), "mimetype": Array("application/epub+zip".utf8)]
        all["EPUB/package.opf"] = package
        all.merge(files) { $1 }
        for (name, bytes) in all {
            let folder = name.split(separator: "/").dropLast().joined(separator: "/")
            try await checkProcess(["mkdir", "-p", directory.file("book/\(folder)")])
            directory.write("book/\(name)", bytes)
        }
        return try await Streamer(onAskCredentials: nil)
            .open(asset: PublicationAsset(path: directory.file("book")), allowUserInteraction: false, warnings: warnings)
    }

    /// A publication with a manifest's items, an identifier for each href, and all XHTML in the spine.
    func open(items: [String], _ files: [String: [UInt8]] = [:]) async throws -> Publication {
        let list = items.map { href in
            let type = href.hasSuffix("html") ? "application/xhtml+xml" : href.hasSuffix("jpeg") ? "image/jpeg" : "text/css"
            return "<item id=\"\(href)\" href=\"../\(href)\" media-type=\"\(type)\"/>"
        }
        let spine = items.filter { $0.hasSuffix("html") }.map { "<itemref idref=\"\($0)\"/>" }
        let package = """
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
            <dc:title>Book</dc:title></metadata><manifest>\(list.joined())</manifest><spine>\(spine.joined())</spine></package>
            """
        return try await open(Array(package.utf8), files)
    }
}
