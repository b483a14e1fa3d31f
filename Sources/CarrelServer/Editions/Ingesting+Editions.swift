package import CarrelIngest
import CarrelStore
import CarrelSubscription
import CarrelThreads

extension Ingesting {
    /// What became of one edition.
    package struct EditionOutcome: Sendable {
        package let edition: Edition
        /// False when the product was in the catalog already.
        package let created: Bool
        package let warnings: [String]
    }

    /// Gives a title, an audiobook or an edition, the picture in a file as its cover.
    func replaceCover(of title: Title, by path: String, _ editions: Editions, _ actor: Actor) async throws -> Title {
        guard let edition = try await editions.find(title: title.id) else {
            return try await replaceCover(of: title, with: path, by: actor)
        }
        return try await keepingCover(path) {
            try await editions.setCover($0, of: edition.productID, by: actor).title
        }
    }

    /// Takes an edition. Content that the product has already is recognised, and what the options say is written to it; other
    /// content takes the place of what the product has.
    package func ingest(
        _ path: String,
        _ options: EditionOptions,
        _ terms: Edition.Terms,
        into editions: Editions,
        by actor: Actor,
        progress: @escaping @Sendable (IngestProgress) -> Void = { _ in }
    ) async throws -> EditionOutcome {
        if let fault = EditionOptions.fault(inProductID: terms.productID) { throw ServerError(.invalid, fault) }
        try editions.checkDates(terms)
        let (scratch, blobs) = (scratch, titles.blobs)
        let hash = try await thread.run {
            try EditionIngest(blobs: blobs, scratch: scratch, options: options, progress: progress).sourceHash(path)
        }
        if case .same(let edition) = try await editions.match(sourceHash: hash, terms: terms) {
            var known = try await editions.takeAgain(edition, options, terms, by: actor)
            if let path = options.overrides.coverPath {
                known = try await keepingCover(path) {
                    try await editions.setCover($0, of: terms.productID, by: actor)
                }
            }
            return EditionOutcome(edition: known, created: false, warnings: [])
        }
        let trail = BlobTrail(blobs)
        do {
            let made = try await thread.run {
                try EditionIngest(blobs: trail, scratch: scratch, options: options, progress: progress).run(
                    path,
                    sourceHash: hash
                )
            }
            let (edition, created) = try await editions.add(made, terms, by: actor)
            return EditionOutcome(edition: edition, created: created, warnings: made.warnings)
        } catch {
            await takeBack(trail.made)
            throw Self.isFull(error) ? diskIsFull(path) : error
        }
    }
}

extension Editions {
    /// Writes what the options say to an edition that has the content already.
    fileprivate func takeAgain(
        _ edition: Edition,
        _ options: EditionOptions,
        _ terms: Edition.Terms,
        by actor: Actor
    ) async throws -> Edition {
        if terms.isDraft, edition.state != .draft {
            throw ServerError(.conflict, "\(edition.productID) is \(edition.state.rawValue): only a new product can be a draft")
        }
        var change = Change()
        change.metadata = options.overrides
        change.price = terms.price
        change.issuedAt = terms.issuedAt
        change.publishedAt = terms.publishedAt
        change.samples = options.samples.isEmpty ? nil : options.samples
        let says = !change.metadata.isEmpty || change.price != nil || change.issuedAt != nil || change.publishedAt != nil
        var known = edition
        if says || change.samples != nil { known = try await self.change(known.productID, change, by: actor) }
        return known.state == .draft && !terms.isDraft ? try await publish(known.productID, by: actor) : known
    }
}
