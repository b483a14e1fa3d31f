// SPDX-License-Identifier: Apache-2.0

/// The structure of a PDF document, without the content of its pages.
package struct PDFDescription: Sendable, Equatable {
    package var metadata: PDFMetadata
    package var pageCount: Int
    /// Whether its pages follow each other from right to left (`/Direction /R2L`, ISO 32000-2 §12.2).
    package var isRightToLeft: Bool
    package var outline: [PDFOutlineItem]
    /// The label of each page, such as `iv`; empty if the document has no page labels.
    package var pageLabels: [String]
    /// Its encryption; nil if it is not encrypted.
    package var encryption: PDFEncryption?
    /// Its errors that did not prevent reading, as lower-case sentences.
    package var warnings: [String]
}
