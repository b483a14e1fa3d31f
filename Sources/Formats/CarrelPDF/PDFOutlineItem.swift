// SPDX-License-Identifier: Apache-2.0

/// An entry of a document's outline (ISO 32000-2 §12.3.3).
package struct PDFOutlineItem: Sendable, Equatable {
    package var title: String
    /// The page that it leads to, counted from 0; nil if it leads to none of this document.
    package var page: Int?
    package var children: [PDFOutlineItem]

    package init(title: String, page: Int?, children: [PDFOutlineItem] = []) {
        self.title = title
        self.page = page
        self.children = children
    }
}
