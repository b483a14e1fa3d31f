// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelLoopback
import CarrelPublication
import CarrelThreads

/// A publication being served: its addresses, and their access control.
final class ReadingSession: Sendable {
    let publication: Publication
    /// In the addresses of the manifest and of the resources, which every script of the publication can read.
    let content = SessionToken()
    /// Token in addresses that act for the user: rights, and the pages of the reader. No resource can learn it.
    let control = SessionToken()
    /// Token in the addresses of PDF documents, whose frame has no `sandbox`, because Chromium shows no PDF in such a frame.
    let documents = SessionToken()
    /// Resources that were found to be no PDF documents.
    private let others = Locked<Set<String>>([])

    /// Whether our page shows the publication, whose documents are then seen only in its frames.
    private let isRead: Bool

    init(_ publication: Publication, isRead: Bool = false) {
        self.publication = publication
        self.isRead = isRead
    }

    /// Whether PDF documents are shown as rendered pages with their text: a browser's PDF viewer has its own buttons to copy, print
    /// and save, which count nothing.
    var drawsDocuments: Bool { isRead && publication.withholdsDocuments }

    /// Refuses requests for the raw document with 403 while documents are rendered, whatever their name and link declare.
    func refuseDrawn(_ resource: any Resource) async throws {
        let href = resource.link.href
        // Each range of a track would cost a server one more request else.
        guard drawsDocuments, !others.withLock({ $0.contains(href) }) else { return }
        guard try await Self.isDocument(resource) else {
            others.withLock { _ = $0.insert(href) }
            return
        }
        throw HTTPError(
            .forbidden,
            "reader.drawn",
            "the rights to this document are limited, so that its pages are shown in the reader only"
        )
    }

    /// Whether it begins as a document that a viewer takes for PDF.
    static func isDocument(_ resource: any Resource) async throws(ResourceError) -> Bool {
        PDFHeader.mayBeIn(try await resource.read(0..<Int64(PDFHeader.window)))
    }

    /// The responses to clients that may not use the publication.
    static let refusals = Refusals(
        otherUser: HTTPError(.forbidden, "reader.other-user", "this publication is open for another user of this machine"),
        noToken: HTTPError(.forbidden, "reader.token", "only who was given the address of this publication may use it")
    )

    /// The addresses that each token is for. Only what acts for the user is closed to pages of other origins: a resource of the
    /// publication has no origin at all.
    var areas: [LoopbackSession.Area] {
        [
            LoopbackSession.Area(["publication", "page"], token: content, allowsOtherOrigins: true),
            LoopbackSession.Area(["protection", "read"], token: control),
            LoopbackSession.Area(["document"], token: documents, allowsOtherOrigins: true),
        ]
    }

    /// Refuses windows and frames that load a raw resource with 403 while our page shows the publication: without the script,
    /// copies would not be counted there.
    func refuseNavigation(_ request: HTTPRequest) throws(HTTPError) {
        guard isRead, request.isNavigation else { return }
        throw HTTPError(.forbidden, "reader.navigation", "the pages of this publication are shown in the reader only")
    }
}
