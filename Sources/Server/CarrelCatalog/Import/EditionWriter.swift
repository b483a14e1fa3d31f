// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelHome
import CarrelIngest
import CarrelStore
import CarrelSubscription
import CarrelThreads
import CarrelWorks

/// A writer of editions into the database of this process. Content that the product already has is recognized, and its metadata
/// updated; different content replaces the product's.
struct EditionWriter: EditionCatalogRegister {
    private let editions: Editions
    private let titles: Titles
    private let options: EditionOptions
    private let terms: Edition.Terms
    private let actor: AuditActor
    private let thread: BlockingThreadPool

    /// - Parameters:
    ///   - editions: the catalog's editions.
    ///   - titles: the titles, for lookups of blobs.
    ///   - options: the edition's metadata.
    ///   - terms: its price, state and dates.
    ///   - actor: the actor for the audit log.
    ///   - thread: the pool that deletes blobs.
    /// - Throws: ``ServerError`` `invalid` for an invalid product id or date.
    init(
        editions: Editions,
        titles: Titles,
        options: EditionOptions,
        terms: Edition.Terms,
        actor: AuditActor,
        thread: BlockingThreadPool
    ) throws {
        if let fault = EditionOptions.fault(inProductID: terms.productID) { throw ServerError(.invalid, fault) }
        try editions.checkDates(terms)
        self.editions = editions
        self.titles = titles
        self.options = options
        self.terms = terms
        self.actor = actor
        self.thread = thread
    }

    func again(_ sourceHash: [UInt8], cover: (blob: BlobID, mediaType: String)?) async throws -> Entered<Edition>? {
        guard let edition = try await editions.find(terms.productID, sourceHash: sourceHash) else { return nil }
        if terms.isDraft, edition.state != .draft {
            throw ServerError(.conflict, "\(edition.productID) is \(edition.state.rawValue): only a new product can be a draft")
        }
        var change = Editions.Change()
        change.metadata = options.overrides
        change.price = terms.price
        change.licensed = terms.licensed == edition.protection.licensed ? nil : terms.licensed
        change.issuedAt = terms.issuedAt
        change.publishedAt = terms.publishedAt
        change.samples = options.samples.isEmpty ? nil : options.samples
        let says =
            !change.metadata.isEmpty || change.price != nil || change.licensed != nil || change.issuedAt != nil
            || change.publishedAt != nil
        var known = edition
        if says || change.samples != nil { known = try await editions.change(known.productID, change, by: actor) }
        if known.state == .draft, !terms.isDraft { known = try await editions.publish(known.productID, by: actor) }
        guard let cover else { return Entered(known, .none) }
        return Entered(try await editions.setCover(cover, of: known.productID, by: actor), .none)
    }

    func pageHistory() async throws -> PageHistory { try await editions.pageHistory(of: terms.productID) }

    func enter(_ made: IngestedEdition) async throws -> Entered<Edition> {
        let (edition, change) = try await editions.add(made, terms, by: actor)
        return Entered(edition, change)
    }

    func discard(_ blobs: Set<BlobID>) async {
        await titles.discard(blobs, on: thread)
    }
}
