// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The content of a publication piece by piece in reading order, for example for text-to-speech. A document is read after the
/// last piece of the previous one.
public struct PublicationContent: AsyncSequence, Sendable {
    /// A piece of content.
    public typealias Element = ContentElement
    /// The error that ends the reading.
    public typealias Failure = ResourceError

    let publication: Publication
    let start: Locator?

    /// Gives one piece after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let publication: Publication
        private var elements: ArraySlice<ContentElement> = []
        /// In the reading order.
        private var next: Int
        /// The start in the first resource, from 0 to 1.
        private var progression: Double?

        init(_ content: PublicationContent) {
            publication = content.publication
            next = 0
            guard let start = content.start, let path = ResourcePath(href: start.href),
                let index = publication.readingOrder.firstIndex(where: { $0.path == path })
            else { return }
            next = index
            progression = start.locations.progression
        }

        /// The next piece.
        ///
        /// - Returns: nil at the end of the publication.
        /// - Throws: `resource.forbidden` for a restricted publication, and after its license has ended; `resource.unavailable` and
        ///   `resource.cancelled`. A document that is missing, damaged or longer than 8 MiB, or whose own license has ended, is left
        ///   out.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ResourceError) -> ContentElement? {
            guard !publication.isRestricted else {
                throw ResourceError(.forbidden, publication.protectionErrorMessage ?? "the publication is restricted")
            }
            while true {
                if let reason = publication.endReason { throw ResourceError(.forbidden, reason) }
                if let element = elements.popFirst() {
                    // its license may have ended since the document was read
                    if publication.endReason(of: Link(href: element.locator.href)) == nil { return element }
                    continue
                }
                guard next < publication.readingOrder.count else { return nil }
                let link = publication.readingOrder[next]
                let found = try await publication.contentElements(of: link)
                next += 1
                elements = found[Self.start(progression.take() ?? 0, in: found)...]
            }
        }

        /// The index of the piece at a position: the first if several begin there.
        private static func start(_ progression: Double, in elements: [ContentElement]) -> Int {
            let places = elements.map { $0.locator.locations.progression ?? 0 }
            guard let last = places.last(where: { $0 <= progression }) else { return 0 }
            return places.firstIndex(of: last) ?? 0
        }
    }

    /// Starts at the first piece.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Publication {
    /// The content from a position to the end of the publication.
    ///
    ///     for try await element in publication.content(from: navigator.currentLocator) { await speak(element.text) }
    ///
    /// - Parameter locator: the start, by its resource and its `progression`; nil, or a position outside the reading order, for
    ///   the beginning.
    /// - Returns: blocks of text and the media between them for HTML and XHTML; images and recordings of the reading order as
    ///   single elements; nothing for PDF documents.
    public func content(from locator: Locator? = nil) -> PublicationContent {
        PublicationContent(publication: self, start: locator)
    }

    fileprivate func contentElements(of link: Link) async throws(ResourceError) -> [ContentElement] {
        guard let type = link.mediaType else { return [] }
        if !type.isHTML {
            let role: ContentElement.Role? = type.isBitmap ? .image : type.isAudio ? .audio : type.isVideo ? .video : nil
            guard let role, let locator = locate(link) else { return [] }
            return [ContentElement(role, at: locator, text: link.title, link: link)]
        }
        let resource = get(link)
        defer { resource.close() }
        do {
            let bytes = try await resource.read(upTo: PublicationSearch.documentLimit)
            return try await PublicationSearch.threads.run { [self] in
                guard let text = DocumentText(bytes) else { return [] }
                return text.parts.map { element($0, of: text, link) }
            }
        } catch let error as ResourceError {
            if error.code == .unavailable || error.code == .cancelled { throw error }
            return []
        } catch is CancellationError {
            throw ResourceError(.cancelled, "the reading was cancelled")
        } catch {
            throw ResourceError(.unavailable, "the content cannot be read: \(error)")
        }
    }

    private func element(_ part: DocumentText.Part, of text: DocumentText, _ link: Link) -> ContentElement {
        var locator = Locator(href: link.href, mediaType: link.mediaType ?? Format.unknown.mediaType, title: link.title)
        func progression(_ place: Int) -> Double { text.scalars.isEmpty ? 0 : Double(place) / Double(text.scalars.count) }
        switch part {
        case .block(let range, let heading):
            let words = String(String.UnicodeScalarView(text.scalars[range]))
            locator.locations.progression = progression(range.lowerBound)
            locator.text.highlight = words
            return ContentElement(heading == nil ? .body : .heading, at: locator, text: words, headingLevel: heading)
        case .media(let media, let place):
            locator.locations.progression = min(1, progression(place))
            let path = ResourcePath(href: media.address, relativeTo: link.path)
            let target = path.flatMap { self.link(withHREF: $0.href) ?? Link($0) } ?? Link(href: media.address)
            let role: ContentElement.Role =
                switch media.kind {
                case .image: .image
                case .audio: .audio
                case .video: .video
                }
            return ContentElement(role, at: locator, text: media.description, link: target)
        }
    }
}
