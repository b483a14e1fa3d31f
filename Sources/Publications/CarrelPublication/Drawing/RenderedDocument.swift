// SPDX-License-Identifier: Apache-2.0

import CarrelPDF

/// A PDF document shown as pictures of its pages with their words, where copying and printing must be counted.
package final class RenderedDocument: Sendable {
    package let pageCount: Int
    private let file: FileResource
    /// The license that the copy in `file` is used under; nil for a document without one.
    private let access: (any RevocableResource)?
    private let poppler: Poppler

    /// Pixels of a picture's longer side: sizes that are drawn.
    package static let sizes = [800, 1200, 1800, 2700]

    /// Bytes of a picture: it has no more before it is packed.
    private static let pictureLimit = 24 << 20
    private static let textLimit = 8 << 20

    /// Opens a document; if it is not a file, it is copied into an unnamed file once.
    ///
    /// - Parameters:
    ///   - resource: the decrypted document.
    ///   - poppler: renders it.
    /// - Throws: `resource.unavailable` if Poppler is not installed, `resource.malformed` unless it is a PDF document, or what
    ///   reading throws.
    package init(_ resource: any Resource, _ poppler: Poppler = Poppler()) async throws(ResourceError) {
        guard poppler.has("pdftoppm"), poppler.has("pdftotext") else {
            throw ResourceError(
                .unavailable,
                "the rights to this document are limited, so that its pages are drawn, for which pdftoppm and pdftotext are needed: "
                    + "install Poppler’s programs (the package poppler-utils)"
            )
        }
        guard let source = try await PDFSource(SingleResourceFetcher(resource)) else {
            throw ResourceError(.malformed, "\"\(resource.link.href)\" is no PDF document")
        }
        pageCount = try await source.describe().pageCount
        file = source.file
        access = resource as? any RevocableResource
        self.poppler = poppler
    }

    /// Renders a page as displayed: within its crop box, and rotated.
    ///
    /// - Parameters:
    ///   - page: from 1.
    ///   - size: the longer side in pixels, one of ``sizes``.
    /// - Returns: PNG.
    /// - Throws: `resource.not-found` without such a page, `resource.too-large` if it exceeds the limits of time or size,
    ///   `resource.malformed` if the page cannot be rendered, `resource.unavailable` if nothing can be rendered,
    ///   `resource.forbidden` after the license has ended.
    package func picture(of page: Int, size: Int) async throws(ResourceError) -> [UInt8] {
        let words = ["pdftoppm", "-q"] + (try range(page)) + ["-singlefile", "-cropbox", "-scale-to", "\(size)", "-png"]
        let bytes = try await run(words, upTo: Self.pictureLimit, "page \(page) cannot be drawn")
        guard Self.isPNG(bytes) else { throw ResourceError(.malformed, "page \(page) cannot be drawn") }
        return bytes
    }

    /// Reads the words of a page and their positions.
    ///
    /// - Parameter page: from 1.
    /// - Returns: the words in reading order.
    /// - Throws: the errors of ``picture(of:size:)``.
    package func words(of page: Int) async throws(ResourceError) -> PageWords {
        let words = ["pdftotext", "-q"] + (try range(page)) + ["-cropbox", "-bbox-layout", "-enc", "UTF-8"]
        return PageWords(try await run(words, ["-"], upTo: Self.textLimit, "the words of page \(page) cannot be read"))
    }

    private func run(
        _ words: [String],
        _ others: [String] = [],
        upTo limit: Int,
        _ complaint: String
    ) async throws(ResourceError) -> [UInt8] {
        try access?.checkAccess()
        let bytes: [UInt8]
        do throws(Poppler.Failure) {
            bytes = try await poppler.run(words, others, on: file, upTo: limit)
        } catch {
            throw switch error {
            case .unavailable:
                ResourceError(.unavailable, "\(complaint): \(words[0]) cannot be run here")
            case .cancelled: ResourceError(.cancelled, "\(complaint): cancelled")
            case .tooLarge: ResourceError(.tooLarge, "\(complaint): it takes too long, or too many bytes")
            case .failed: ResourceError(.malformed, complaint)
            }
        }
        // the license may have ended meanwhile
        try access?.checkAccess()
        return bytes
    }

    private func range(_ page: Int) throws(ResourceError) -> [String] {
        guard (1...max(1, pageCount)).contains(page), pageCount > 0 else {
            throw ResourceError(.notFound, "the document has \(pageCount) pages")
        }
        return ["-f", "\(page)", "-l", "\(page)"]
    }

    private static func isPNG(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
    }
}
