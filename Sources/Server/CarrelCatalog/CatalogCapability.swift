// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelHTTP
package import CarrelHome
package import CarrelStore
import CarrelThreads
package import CarrelWebAPI

/// The catalog: titles, editions and their media.
package struct CatalogCapability: Capability {
    package let titles: Titles
    package let editions: Editions
    package let ingesting: IngestService
    package let blobSweep: BlobSweep
    package let coldBlobs: BlobIOPool
    package let openEditions: OpenEditionCache
    package let products: ProductCatalogCache
    private let context: ServiceContext
    private let callers: RequestAuthenticator
    private let sweepsEverything: Bool

    /// - Parameters:
    ///   - context: the capability's foundation.
    ///   - blobs: the media.
    ///   - sweepsEverything: whether the first sweep may move more than a tenth of the media.
    ///   - callers: the authenticator of requests.
    package init(_ context: ServiceContext, blobs: any BlobStore, sweepsEverything: Bool, callers: RequestAuthenticator) {
        let (database, clock) = (context.database, context.clock)
        self.context = context
        self.callers = callers
        self.sweepsEverything = sweepsEverything
        coldBlobs = BlobIOPool(blobs)
        titles = Titles(database: database, blobs: blobs, coldBlobs: coldBlobs, clock: clock)
        let work = IngestPipeline(home: context.home, blobs: blobs)
        blobSweep = BlobSweep(database: database, blobs: blobs, clock: clock, thread: work.disk, home: context.home)
        products = ProductCatalogCache(clock: clock) { known in
            try await database.read { try EditionStore.products(unless: known, in: $0) }
        }
        openEditions = OpenEditionCache(database: database, blobs: coldBlobs)
        editions = Editions(database: database, clock: clock, products: products, open: openEditions)
        ingesting = IngestService(work: work, titles: titles, editions: editions)
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "titles": .nothing("works"), "editions": .nothing("works"), "edition_resources": .nothing("works"),
    ]
    package static let statements = TitleStore.statements + EditionStore.statements

    package func addRoutes(to router: inout Router) {
        SampleRoutes(titles: titles).add(to: &router)
        TitleRoutes(titles: titles, ingesting: ingesting, callers: callers).add(to: &router)
        BlobRoutes(database: context.database, callers: callers).add(to: &router)
        IngestRoutes(titles: titles, editions: editions, callers: callers).add(to: &router)
        EditionRoutes(editions: editions, ingesting: ingesting, callers: callers).add(to: &router)
    }

    /// Indexes for searches what other versions of the program wrote.
    @Sendable package func completeIndex() async throws { try await EditionIndex.complete(context.database) }

    package var jobs: [BackgroundJob] {
        let (sweep, everything, index) = (blobSweep, Locked(sweepsEverything), completeIndex)
        return [
            BackgroundJob(every: BlobSweep.interval, trouble: "unused media were not removed") {
                let isHeld = sweep.isHeld
                try await sweep.run(everything: everything.withLock(\.self))
                if !isHeld { everything.withLock { $0 = false } }
            },
            BackgroundJob(every: .seconds(10), trouble: "what other versions wrote cannot be indexed") {
                try await index()
            },
        ]
    }
}
