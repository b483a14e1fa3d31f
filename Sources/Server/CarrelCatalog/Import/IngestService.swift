// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelIngest
import CarrelStore
package import CarrelWorks

/// Ingests sources into the catalog of this process's database.
package struct IngestService: Sendable {
    let work: IngestPipeline
    let titles: Titles
    let editions: Editions

    /// Ingests one file, folder or archive. A source already in the catalog is recognized by its contents; metadata in the
    /// options then update its title.
    package func ingest(
        _ path: String,
        _ options: IngestOptions,
        by actor: AuditActor = .operator,
        progress: @escaping @Sendable (IngestProgress) -> Void = { _ in }
    ) async throws -> IngestPipeline.Outcome<Title> {
        try await work.take(
            path,
            options,
            into: register(options.overrides, isStrict: options.isStrict, actor),
            progress: progress
        )
    }

    /// Ingests an edition. Content that the product already has is recognized, and its metadata updated; other content replaces
    /// the product's.
    package func ingest(
        _ path: String,
        _ options: EditionOptions,
        _ terms: Edition.Terms,
        by actor: AuditActor = .operator,
        progress: @escaping @Sendable (IngestProgress) -> Void = { _ in }
    ) async throws -> IngestPipeline.Outcome<Edition> {
        let register = try EditionWriter(
            editions: editions,
            titles: titles,
            options: options,
            terms: terms,
            actor: actor,
            thread: work.disk
        )
        return try await work.take(path, options, into: register, progress: progress)
    }

    /// Replaces the cover of a title, an audiobook or an edition, with the image in a file.
    func replaceCover(of title: Title, by path: String, _ actor: AuditActor) async throws -> Title {
        let edition = try await editions.find(title: title.id)
        return try await work.keepingCover(path, in: register(MetadataOverrides(), isStrict: false, actor)) { cover in
            guard let edition else { return try await titles.setCover(cover, of: title, by: actor) }
            return try await editions.setCover(cover, of: edition.productID, by: actor).title
        }
    }

    private func register(_ overrides: MetadataOverrides, isStrict: Bool, _ actor: AuditActor) -> TitleWriter {
        TitleWriter(titles: titles, overrides: overrides, isStrict: isStrict, actor: actor, thread: work.disk)
    }
}
