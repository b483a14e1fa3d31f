import CarrelPublication

/// The PDF document whose pages are drawn: the one that was asked for last, opened once.
actor DrawnDocuments {
    private typealias Opening = Task<DrawnDocument, any Error>

    private let publication: Publication
    private let poppler: Poppler
    private var last: (path: ResourcePath, opening: Opening)?
    /// Who wait for the opening that is under way; nil where none is.
    private var waiting: Int?

    init(_ publication: Publication, _ poppler: Poppler) {
        self.publication = publication
        self.poppler = poppler
    }

    /// The document at a path of the publication. Its opening ends when nobody waits for it, or another one is asked for.
    ///
    /// - Throws: as ``DrawnDocument``.
    func document(at path: ResourcePath) async throws -> DrawnDocument {
        let opening = opening(of: path)
        return try await withTaskCancellationHandler {
            do {
                let document = try await opening.value
                if last?.opening == opening { waiting = nil }
                return document
            } catch {
                if last?.opening == opening { (last, waiting) = (nil, nil) }
                throw error
            }
        } onCancel: {
            Task { await self.leave(opening) }
        }
    }

    private func opening(of path: ResourcePath) -> Opening {
        if let last, last.path == path {
            waiting = waiting.map { $0 + 1 }
            return last.opening
        }
        last?.opening.cancel()
        let (publication, poppler) = (publication, poppler)
        let opening = Opening { try await DrawnDocument(publication.get(Link(path)), poppler) }
        (last, waiting) = ((path, opening), 1)
        return opening
    }

    private func leave(_ opening: Opening) {
        guard let last, last.opening == opening, let count = waiting else { return }
        waiting = count - 1
        guard count == 1 else { return }
        opening.cancel()
        (self.last, waiting) = (nil, nil)
    }
}
