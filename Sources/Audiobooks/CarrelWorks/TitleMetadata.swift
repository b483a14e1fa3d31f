// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The title and the makers of a work, by its file or its publisher.
package struct TitleMetadata: Sendable, Equatable {
    package var title: String
    package var subtitle: String?
    package var authors: [String] = []
    package var narrators: [String] = []
    package var publisher: String?
    /// BCP 47 or ISO 639, as written.
    package var language: String?
    package var description: String?
    /// A year or an ISO 8601 date, as written.
    package var published: String?
    package var isbn: ISBN?
    /// In the order of their starts.
    package var chapters: [Chapter] = []

    package struct Chapter: Sendable, Equatable {
        package var title: String
        /// Milliseconds from the start of the title.
        package var startMS: Int64

        package init(title: String, startMS: Int64) {
            self.title = title
            self.startMS = startMS
        }
    }

    package init(title: String) { self.title = title }

    /// Replaces the values that `overrides` sets.
    package mutating func apply(_ overrides: MetadataOverrides) {
        title = overrides.title ?? title
        subtitle = overrides.subtitle ?? subtitle
        if !overrides.authors.isEmpty { authors = overrides.authors }
        if !overrides.narrators.isEmpty { narrators = overrides.narrators }
        publisher = overrides.publisher ?? publisher
        language = overrides.language ?? language
        description = overrides.description ?? description
        isbn = overrides.isbn ?? isbn
    }
}
