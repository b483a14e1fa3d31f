// SPDX-License-Identifier: Apache-2.0

import CarrelPublication
import CarrelThreads

/// The location of an open publication's license: in its package if that is a writable file, otherwise in the store.
struct LicenseContainer: Sendable {
    private let asset: PublicationAsset
    private let opener: AssetOpener
    private let store: LCPStore
    /// The license that is in the package, or came with it.
    private let original: LicenseDocument?
    /// Over the package; replaced after that was written.
    let fetcher: InvalidatingFetcher
    private let next: Locked<(any Fetcher)?>

    init(asset: PublicationAsset, fetcher: any Fetcher, opener: AssetOpener, store: LCPStore, original: LicenseDocument?) {
        self.asset = asset
        self.opener = opener
        self.store = store
        self.original = original
        let next = Locked<(any Fetcher)?>(nil)
        self.next = next
        self.fetcher = InvalidatingFetcher(fetcher: fetcher) { current in
            next.withLock { $0.take() } ?? current
        }
    }

    /// Replaces the license. Open resources stay readable.
    ///
    /// - Parameter license: the newer license.
    /// - Throws: `lcp.store` if it cannot be stored anywhere.
    func replace(_ license: VerifiedLicense) async throws(LCPError) {
        do throws(ResourceError) {
            try await inject(license)
        } catch {
            try await store.keep(license.document, for: original)
        }
    }

    private func inject(_ license: VerifiedLicense) async throws(ResourceError) {
        guard case .file(let path) = asset.location, asset.license == nil else {
            throw ResourceError(.unavailable, "the package is not a file here")
        }
        try await LicenseInjection.inject(license.document.bytes, into: path)
        let renewed = try await opener.fetcher(of: asset)
        next.withLock { $0 = renewed }
        fetcher.invalidate()
    }
}
