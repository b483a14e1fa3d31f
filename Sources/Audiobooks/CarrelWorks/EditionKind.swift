// SPDX-License-Identifier: Apache-2.0

/// The kind of files that an edition consists of.
package enum EditionKind: String, Sendable, CaseIterable {
    /// Pages of HTML and their resources.
    case edition
    /// An EPUB publication.
    case ebook
    case pdf
}
