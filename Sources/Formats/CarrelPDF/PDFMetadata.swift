// SPDX-License-Identifier: Apache-2.0

/// The metadata of a PDF document: its XMP packet (ISO 16684-1) or, for what that lacks, its information dictionary (ISO 32000-2
/// §14.3).
package struct PDFMetadata: Sendable, Equatable {
    package var title: String?
    package var authors: [String] = []
    package var publishers: [String] = []
    /// The subject, in a sentence or more.
    package var description: String?
    package var subjects: [String] = []
    /// BCP 47 tags.
    package var languages: [String] = []
    /// ISO 8601, a date with or without a time.
    package var modified: String?
    /// The identifier in the XMP packet, or else the first file identifier (§14.4), in lower-case hexadecimal.
    package var identifier: String?

    package init() {}
}
