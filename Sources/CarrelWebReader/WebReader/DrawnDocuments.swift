import CarrelPublication

/// The PDF document whose pages are drawn: the one that was asked for last, opened once.
actor DrawnDocuments {
    private let publication: Publication
    private let poppler: Poppler
    private var last: (path: ResourcePath, opening: Task<DrawnDocument, any Error>)?

    init(_ publication: Publication, _ poppler: Poppler) {
        self.publication = publication
        self.poppler = poppler
    }

    /// The document at a path of the publication.
    ///
    /// - Throws: as ``DrawnDocument``.
    func document(at path: ResourcePath) async throws -> DrawnDocument {
        if let last, last.path == path { return try await last.opening.value }
        let (publication, poppler) = (publication, poppler)
        last?.opening.cancel()
        // others may wait for it when who asked first is gone
        let opening = Task { try await DrawnDocument(publication.get(Link(path)), poppler) }
        last = (path, opening)
        do {
            return try await opening.value
        } catch {
            if last?.opening == opening { last = nil }
            throw error
        }
    }
}
