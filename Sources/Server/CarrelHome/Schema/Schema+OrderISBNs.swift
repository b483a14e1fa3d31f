// SPDX-License-Identifier: Apache-2.0

import CarrelStore

extension Schema {
    /// A repeated request is recognized by the first request's ISBN: the title of an ISBN changes with the catalog.
    static let orderISBNs = Migration(
        version: 14,
        name: "the ISBNs that orders were placed by",
        statements: [SQL("ALTER TABLE orders ADD COLUMN isbn TEXT")]
    )
}
