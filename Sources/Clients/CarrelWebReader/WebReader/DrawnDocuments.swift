// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// The PDF document whose pages are rendered: the last one requested, opened once for all waiting requests.
actor DrawnDocuments {
    private let publication: Publication
    private let poppler: Poppler
    private var last: (path: ResourcePath, document: AsyncLazy<RenderedDocument>)?

    init(_ publication: Publication, _ poppler: Poppler) {
        self.publication = publication
        self.poppler = poppler
    }

    /// Opens the document at a path of the publication; cancels the opening of another one.
    ///
    /// - Throws: as ``RenderedDocument``.
    func document(at path: ResourcePath) async throws(ResourceError) -> RenderedDocument {
        if last?.path != path {
            last?.document.giveUp()
            last = nil
        }
        let document = last?.document ?? AsyncLazy()
        last = (path, document)
        return try await document.value { [publication, poppler] () async throws(ResourceError) in
            try await RenderedDocument(publication.get(Link(path)), poppler)
        }
    }
}
