import CarrelBytes
import CarrelPublication
import CarrelThreads

/// Where the license of an open publication is: in its package if that is a file that can be written, otherwise beside it.
struct LicenseContainer: Sendable {
    let asset: PublicationAsset
    let path: ResourcePath
    let store: LCPStore
    /// Over the package, made anew after it was rewritten.
    let fetcher: InvalidatingFetcher
    private let next: Locked<(any Fetcher)?>

    init(asset: PublicationAsset, fetcher: any Fetcher, path: ResourcePath, store: LCPStore) {
        self.asset = asset
        self.path = path
        self.store = store
        let next = Locked<(any Fetcher)?>(nil)
        self.next = next
        self.fetcher = InvalidatingFetcher(fetcher: fetcher) { current in
            next.withLock { next in
                defer { next = nil }
                return next ?? current
            }
        }
    }

    /// Puts a license in the place of the one that is there.
    func replace(_ license: VerifiedLicense) async throws(LCPError) {
        try await store.keep(license.document)
    }
}
