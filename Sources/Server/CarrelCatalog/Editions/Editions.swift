// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelHome
package import CarrelIngest
package import CarrelStore
import CarrelSubscription
import CarrelThreads
import CarrelWebAPI
package import CarrelWorks

/// The editions of the catalog: taken in, published, withdrawn, changed. Every change is in the audit log, in its own
/// transaction.
package struct Editions: Sendable {
    let database: any Database
    let clock: any WallClock
    let products: ProductCatalogCache
    let open: OpenEditionCache
    private let keyMaker = Locked<KeyMaker?>(nil)

    init(database: any Database, clock: any WallClock, products: ProductCatalogCache, open: OpenEditionCache) {
        (self.database, self.clock, self.products, self.open) = (database, clock, products, open)
    }

    package func find(_ productID: String) async throws -> Edition {
        guard let edition = try await database.read({ try EditionStore.edition(product: productID, in: $0) }) else {
            throw Self.unknown
        }
        return edition
    }

    /// A page of editions, the newest issue first, drafts among them.
    package func list(after: (issuedAt: Instant, productID: String)? = nil, limit: Int = 100) async throws -> [Edition] {
        try await database.read { try EditionStore.list(after: after, withDrafts: true, limit: limit, in: $0) }
    }

    package func resources(of edition: Edition) async throws -> [EditionResource] {
        try await database.read { try EditionStore.resources(of: edition.title.id, in: $0) }
    }

    /// Finds the product if it has the content of a source; nil if it has other content, or does not exist.
    func find(_ productID: String, sourceHash: [UInt8]) async throws -> Edition? {
        try await database.read { try EditionStore.edition(product: productID, sourceHash: sourceHash, in: $0) }
    }

    /// The change times of a product's pages; none for a new product.
    func pageHistory(of productID: String) async throws -> PageHistory {
        let now = clock.now
        return try await database.read { transaction in
            guard let edition = try EditionStore.edition(product: productID, in: transaction) else {
                return PageHistory(now: now)
            }
            var pages: [String: PageHistory.Page] = [:]
            for resource in try EditionStore.resources(of: edition.title.id, in: transaction) {
                // Editions ingested before times were stored have only the edition's own time.
                let isKept = resource.changedAt.milliseconds > 0
                pages[resource.path] = .init(
                    digest: resource.digest,
                    changedAt: isKept ? resource.changedAt : edition.contentAt
                )
            }
            return PageHistory(now: now, pages: pages)
        }
    }

    /// Adds the result of an ingest: as a new product, or as new content of an existing one.
    ///
    /// - Returns: the edition, and the kind of change.
    /// - Throws: ``ServerError`` `conflict` for a draft of a published edition.
    package func add(
        _ made: IngestedEdition,
        _ terms: Edition.Terms,
        by actor: AuditActor
    ) async throws -> (edition: Edition, change: CatalogChange) {
        let (now, id) = (clock.now, Random.uuid())
        let entry = actor.entry("edition.ingest", on: terms.productID, at: now)
        let change = try await database.write { transaction -> CatalogChange in
            let known = try EditionStore.edition(product: terms.productID, in: transaction)
            let title = Title(
                id: known?.title.id ?? id,
                kind: Title.Kind(made.kind),
                metadata: made.metadata,
                durationMS: 0,
                cover: made.cover.map { ($0.blob.text, $0.mediaType) },
                sample: nil,
                createdAt: known?.title.createdAt ?? now
            )
            var edition = try Self.edition(title, made, terms, known: known, at: now)
            try requireKey(&edition, by: actor, at: now, in: transaction)
            let same = try EditionStore.edition(product: terms.productID, sourceHash: made.sourceHash, in: transaction)
            if known != nil {
                try EditionStore.setContent(title, sourceHash: made.sourceHash, mediaBlob: made.media.text, in: transaction)
                try EditionStore.update(edition, in: transaction)
            } else {
                try EditionStore.insertTitle(title, sourceHash: made.sourceHash, mediaBlob: made.media.text, in: transaction)
                try EditionStore.insert(edition, in: transaction)
            }
            try EditionStore.setResources(made.resources, of: title.id, in: transaction)
            try AuditStore.append(entry, in: transaction)
            return known == nil ? .created : same == nil ? .replaced : .none
        }
        forget(terms.productID)
        return (try await find(terms.productID), change)
    }

    private static func edition(
        _ title: Title,
        _ made: IngestedEdition,
        _ terms: Edition.Terms,
        known: Edition?,
        at now: Instant
    ) throws -> Edition {
        if let known, known.state != .draft, terms.isDraft {
            throw ServerError(.conflict, "\(known.productID) is \(known.state.rawValue): only a new product can be a draft")
        }
        let state =
            known.map { $0.state == .draft && !terms.isDraft ? .published : $0.state } ?? (terms.isDraft ? .draft : .published)
        return Edition(
            title: title,
            productID: terms.productID,
            price: terms.price ?? known?.price ?? .paid,
            state: state,
            issuedAt: terms.issuedAt ?? known?.issuedAt ?? now,
            publishedAt: state == .draft ? nil : terms.publishedAt ?? known?.publishedAt ?? now,
            withdrawnAt: known?.withdrawnAt,
            updatedAt: now,
            contentAt: now,
            byteCount: made.byteCount,
            entry: made.entry,
            resourceCount: made.resources.count,
            sampleCount: made.resources.count(where: \.isSample),
            mediaBlob: made.media.text,
            protection: try protection(made, terms, known: known)
        )
    }

    /// The protection of new contents. The tags of other contents are of no use, and their blob is swept.
    private static func protection(_ made: IngestedEdition, _ terms: Edition.Terms, known: Edition?) throws -> Edition.Protection
    {
        var protection = known?.protection ?? Edition.Protection()
        protection.licensed = terms.licensed ?? protection.licensed
        if known?.mediaBlob != made.media.text { protection.tags = nil }
        if protection.licensed == .off { protection.tags = nil } else { try requireFile(Title.Kind(made.kind), terms.productID) }
        return protection
    }

    /// Changes to an edition; a nil or empty member is left unchanged.
    package struct Change: Sendable {
        package var metadata = MetadataOverrides()
        package var price: Edition.Price?
        package var licensed: Edition.Licensed?
        package var issuedAt: Instant?
        package var publishedAt: Instant?
        /// Patterns of free resources, which replace the current ones.
        package var samples: [String]?

        package init() {}
    }

    /// Finds the edition of a title, if it is an edition.
    func find(title: String) async throws -> Edition? {
        try await database.read { try EditionStore.edition(title: title, in: $0) }
    }

    /// Changes an edition's metadata.
    package func change(_ productID: String, _ change: Change, by actor: AuditActor) async throws -> Edition {
        try checkDates(issuedAt: change.issuedAt, publishedAt: change.publishedAt, at: clock.now)
        var samples: SampleChoice?
        if let patterns = change.samples { samples = try await sampleChoice(patterns, of: productID) }
        let choice = samples
        let reason = change.licensed.map { "licensed \($0.rawValue)" } ?? ""
        let now = clock.now
        return try await update(productID, "edition.change", reason, by: actor) { edition, transaction in
            var metadata = edition.title.metadata
            metadata.apply(change.metadata)
            if let samples = choice {
                guard samples.mediaBlob == edition.mediaBlob, samples.updatedAt == edition.updatedAt else {
                    throw ServerError(.conflict, "\(productID) was changed at the same time: try again")
                }
                for (path, isSample) in samples.changes {
                    try EditionStore.setSample(isSample, path, of: edition.title.id, in: transaction)
                }
                edition.sampleCount = samples.open
            }
            if metadata != edition.title.metadata {
                try TitleStore.updateMetadata(metadata, of: edition.title.id, in: transaction)
            }
            edition.title.metadata = metadata
            edition.price = change.price ?? edition.price
            edition.issuedAt = change.issuedAt ?? edition.issuedAt
            if edition.publishedAt != nil, let date = change.publishedAt { edition.publishedAt = date }
            guard let licensed = change.licensed else { return }
            edition.protection.licensed = licensed
            guard licensed != .off else { return edition.protection.tags = nil }
            try Self.requireFile(edition.title.kind, productID)
            try requireKey(&edition, by: actor, at: now, in: transaction)
        }
    }

    /// Replaces an edition's cover.
    func setCover(_ cover: (blob: BlobID, mediaType: String), of productID: String, by actor: AuditActor) async throws -> Edition
    {
        try await update(productID, "edition.change", by: actor) { edition, transaction in
            try TitleStore.setCover(cover.blob.text, cover.mediaType, of: edition.title.id, in: transaction)
            edition.title.cover = (cover.blob.text, cover.mediaType)
        }
    }

    /// The resources to open or close, for an edition in the state that was read.
    private struct SampleChoice: Sendable {
        let mediaBlob: String
        let updatedAt: Instant
        var changes: [(path: String, isSample: Bool)] = []
        var open = 0
    }

    /// Patterns that an edition's samples can be named by.
    private static let patternLimit = 100

    /// Opens what the patterns fit, and shuts the rest. Matching takes its time, so nothing waits for it.
    private func sampleChoice(_ patterns: [String], of productID: String) async throws -> SampleChoice {
        guard patterns.count <= Self.patternLimit else {
            throw ServerError(.invalid, "at most \(Self.patternLimit) patterns name the samples of an edition")
        }
        let (edition, resources) = try await database.read { transaction in
            guard let edition = try EditionStore.edition(product: productID, in: transaction) else { throw Self.unknown }
            return (edition, try EditionStore.resources(of: edition.title.id, in: transaction))
        }
        guard patterns.isEmpty || edition.title.kind == .edition else {
            throw ServerError(.invalid, "\(edition.productID) is one file, of which no part can be a sample")
        }
        let compiled = patterns.map { PathPattern($0) }
        var hasFit = [Bool](repeating: false, count: compiled.count)
        var choice = SampleChoice(mediaBlob: edition.mediaBlob, updatedAt: edition.updatedAt)
        for resource in resources {
            // An edition with samples shows its table of contents; its pages stay closed.
            var isSample = !patterns.isEmpty && resource.path == "content.xml"
            for (number, pattern) in compiled.enumerated() where !(isSample && hasFit[number]) && pattern.matches(resource.path) {
                isSample = true
                hasFit[number] = true
            }
            if isSample { choice.open += 1 }
            if isSample != resource.isSample { choice.changes.append((resource.path, isSample)) }
        }
        if let number = hasFit.firstIndex(of: false) {
            throw ServerError(.invalid, "\(edition.productID) has nothing that the sample \"\(patterns[number])\" fits")
        }
        return choice
    }

    /// Publishes a draft or a withdrawn edition.
    package func publish(_ productID: String, by actor: AuditActor) async throws -> Edition {
        let now = clock.now
        return try await update(productID, "edition.publish", by: actor) { edition, _ in
            edition.state = .published
            edition.publishedAt = edition.publishedAt ?? now
            edition.withdrawnAt = nil
        }
    }

    /// Withdraws an edition: feeds tell apps to delete it, and downloads stop.
    package func withdraw(_ productID: String, by actor: AuditActor) async throws -> Edition {
        let now = clock.now
        return try await update(productID, "edition.withdraw", by: actor) { edition, _ in
            guard edition.state != .draft else {
                throw ServerError(.conflict, "\(productID) is a draft: only published editions can be withdrawn")
            }
            edition.state = .withdrawn
            edition.withdrawnAt = edition.withdrawnAt ?? now
        }
    }

    private func update(
        _ productID: String,
        _ action: String,
        _ reason: String = "",
        by actor: AuditActor,
        _ body: @escaping @Sendable (inout Edition, any Transaction) throws -> Void
    ) async throws -> Edition {
        let now = clock.now
        let entry = actor.entry(action, on: productID, at: now, reason: reason)
        try await database.write { transaction in
            guard var edition = try EditionStore.edition(product: productID, in: transaction) else { throw Self.unknown }
            try body(&edition, transaction)
            edition.updatedAt = now
            try EditionStore.update(edition, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
        forget(productID)
        return try await find(productID)
    }

    // MARK: Protected files

    /// Makes the key of a title's contents, in the transaction of a change.
    ///
    /// Its parameters are the title, the number of its last key, whether that key is for the contents, the actor, and the time. It
    /// returns the number of a key that can be used for them: the last one, or a new one.
    package typealias KeyMaker =
        @Sendable (
            _ title: String, _ number: Int, _ isForContents: Bool, AuditActor, Instant, any Transaction
        ) throws -> Int

    /// Sets what makes keys, which are kept in a layer above.
    package func makeKeys(_ maker: @escaping KeyMaker) {
        keyMaker.withLock { $0 = maker }
    }

    /// Gives a licensed edition a key for its contents, unless it has one that can be used.
    private func requireKey(_ edition: inout Edition, by actor: AuditActor, at now: Instant, in transaction: any Transaction)
        throws
    {
        guard edition.protection.licensed != .off else { return }
        guard let make = keyMaker.withLock(\.self) else { throw ServerError(.conflict, "this server has no key store") }
        let before = edition.protection
        let isForContents = before.keyNumber > 0 && before.keyBlob == edition.mediaBlob
        let number = try make(edition.title.id, before.keyNumber, isForContents, actor, now, transaction)
        (edition.protection.keyNumber, edition.protection.keyBlob) = (number, edition.mediaBlob)
        if number != before.keyNumber || !isForContents { edition.protection.tags = nil }
    }

    /// Gives a title that is licensed a key for its contents, unless it has one that can be used: staff may have removed or
    /// revoked it.
    ///
    /// - Parameters:
    ///   - title: the title's id.
    ///   - actor: the actor for the audit log.
    ///   - now: the time.
    ///   - transaction: a transaction that writes.
    /// - Returns: the edition after the change; nil for a title without one.
    /// - Throws: the database's error.
    package func requireKey(
        ofTitle title: String,
        by actor: AuditActor,
        at now: Instant,
        in transaction: any Transaction
    ) throws -> Edition? {
        guard var edition = try EditionStore.edition(title: title, in: transaction) else { return nil }
        let before = edition.protection
        try requireKey(&edition, by: actor, at: now, in: transaction)
        guard (edition.protection.keyNumber, edition.protection.keyBlob) != (before.keyNumber, before.keyBlob) else {
            return edition
        }
        edition.updatedAt = now
        try EditionStore.update(edition, in: transaction)
        return edition
    }

    /// Refuses editions that are not one file.
    private static func requireFile(_ kind: Title.Kind, _ productID: String) throws {
        guard kind == .ebook || kind == .pdf else {
            throw ServerError(
                .invalid,
                "\(productID) consists of pages: only an EPUB or a PDF is published as a protected file"
            )
        }
    }

    private func forget(_ productID: String) {
        products.forget()
        open.forget(productID)
    }

    func checkDates(_ terms: Edition.Terms) throws {
        try checkDates(issuedAt: terms.issuedAt, publishedAt: terms.publishedAt, at: clock.now)
    }

    /// An edition that is to come out later is a draft until then.
    private func checkDates(issuedAt: Instant?, publishedAt: Instant?, at now: Instant) throws {
        if let publishedAt, publishedAt > now {
            throw ServerError(.invalid, "the date of publication is in the future: take it as a draft, and publish it then")
        }
        for date in [issuedAt, publishedAt].compactMap(\.self) where date.milliseconds < -2_208_988_800_000 {
            throw ServerError(.invalid, "\(date) is before 1900")
        }
    }

    static let unknown = ServerError(.notFound, "there is no such product")
}

extension Title.Kind {
    init(_ kind: EditionKind) {
        switch kind {
        case .edition: self = .edition
        case .ebook: self = .ebook
        case .pdf: self = .pdf
        }
    }
}
