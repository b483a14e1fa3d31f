import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelPublication
import CarrelThreads
import Glibc

/// One publication that is being served: its addresses, and who may use them.
final class ReadingSession: Sendable {
    let publication: Publication
    /// In the addresses of the manifest and of the resources, which every script of the publication can read.
    let content = SessionToken()
    /// In the addresses of what acts for the user: rights, and the pages of the reader. No resource can learn it.
    let control = SessionToken()
    /// In the addresses of PDF documents, whose frame has no `sandbox`, because Chromium shows none in such a frame.
    let documents = SessionToken()
    /// Whose requests are answered.
    private let user = geteuid()
    private let place = Locked<Place?>(nil)

    struct Place: Sendable {
        let address: IPAddress
        let port: UInt16
    }

    /// Resources that were found to be no PDF documents.
    private let others = Locked<Set<String>>([])

    /// Whether our page shows the publication, whose documents are then seen in its frames and nowhere else.
    private let isRead: Bool

    init(_ publication: Publication, isRead: Bool = false) {
        self.publication = publication
        self.isRead = isRead
    }

    /// Whether PDF documents are shown as drawn pages with their words: the viewer of a browser has buttons of its own, which count
    /// nothing.
    var drawsDocuments: Bool { isRead && !publication.rights.isUnlimited }

    /// While documents are drawn, answers 403 to requests for one as it is, whatever its name and its link declare.
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

    /// From here on requests come in by this address.
    func listens(at place: Place) {
        self.place.withLock { $0 = place }
    }

    /// Answers 403 to processes of other users of this machine.
    func admit(_ request: HTTPRequest) throws(HTTPError) {
        guard let place = place.withLock({ $0 }),
            let peer = LoopbackUser.id(of: request.peer, connectedTo: place.address, port: place.port), peer == user
        else { throw HTTPError(.forbidden, "reader.otherUser", "this publication is open for another user of this machine") }
    }

    /// The refusal of every request without a token, whether something exists at the path or not.
    private static let noToken = HTTPError(
        .forbidden,
        "reader.token",
        "only who was given the address of this publication may use it"
    )

    /// Answers 403 to other users, and to who does not know the token.
    ///
    /// - Parameters:
    ///   - request: the request to check.
    ///   - text: the token in its path.
    ///   - token: the right one.
    /// - Throws: ``HTTPError``.
    func admit(_ request: HTTPRequest, _ text: String, as token: SessionToken) throws(HTTPError) {
        try admit(request)
        guard token.matches(text) else { throw Self.noToken }
    }

    /// The answer to what no route takes: who has a token that its kind of address takes learns why.
    ///
    /// - Parameter request: the request to check.
    /// - Returns: 403 without a token, with a wrong one, or to another user; nil where 404, 405 or 415 is right.
    func refusal(_ request: HTTPRequest) -> HTTPResponse? {
        do throws(HTTPError) {
            try admit(request)
            let segments = request.path.segments
            guard let token = token(of: segments[0]), segments.count > 1, token.matches(segments[1]) else { throw Self.noToken }
            return nil
        } catch {
            return error.response(requestID: request.id)
        }
    }

    /// The token in addresses that begin so; nil for those that have none.
    private func token(of kind: String) -> SessionToken? {
        switch kind {
        case "publication", "page": content
        case "protection", "read": control
        case "document": documents
        default: nil
        }
    }

    /// While our page shows the publication, answers 403 to windows and frames that want a resource as it is: without the script
    /// copies would not be counted there.
    func refuseNavigation(_ request: HTTPRequest) throws(HTTPError) {
        guard isRead, request.isNavigation else { return }
        throw HTTPError(.forbidden, "reader.navigation", "the pages of this publication are shown in the reader only")
    }

    /// As `admit(_:_:as:)` for what acts for the user. A page of another origin is refused too, should it know the address: a
    /// resource of the publication has no origin at all.
    func admitControl(_ request: HTTPRequest, _ text: String) throws(HTTPError) {
        try admit(request, text, as: control)
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin", site != "none" {
            throw HTTPError(.forbidden, "http.otherOrigin", "a page of another origin cannot do this")
        }
    }
}
