// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// An operator's metadata for a title or an edition; set values replace the source's values.
package struct MetadataOverrides: Sendable {
    package var title: String?
    package var subtitle: String?
    package var authors: [String] = []
    package var narrators: [String] = []
    package var publisher: String?
    package var language: String?
    package var description: String?
    package var isbn: ISBN?
    /// A JPEG, PNG, GIF or WebP file.
    package var coverPath: String?

    package init() {}

    /// Whether no value is set; the cover does not count.
    package var isEmpty: Bool {
        title == nil && subtitle == nil && authors.isEmpty && narrators.isEmpty && publisher == nil && language == nil
            && description == nil && isbn == nil
    }
}
