// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The times at which the pages of a product changed, as far as the catalog knows, for the feed of its pages.
package struct PageHistory: Sendable {
    /// A page as the catalog has it.
    package struct Page: Sendable, Equatable {
        /// As ``EditionResource/digest``.
        package let digest: String
        package let changedAt: Instant

        package init(digest: String, changedAt: Instant) {
            self.digest = digest
            self.changedAt = changedAt
        }
    }

    /// The time of the ingest.
    package let now: Instant
    /// The pages by path; empty for a new product.
    package let pages: [String: Page]

    package init(now: Instant, pages: [String: Page] = [:]) {
        self.now = now
        self.pages = pages
    }

    /// When a page with these bytes came to be at this path.
    package func changedAt(_ path: String, digest: String) -> Instant {
        guard let page = pages[path], page.digest == digest else { return now }
        return min(page.changedAt, now)
    }
}
