// SPDX-License-Identifier: Apache-2.0

/// The limits of an XML document. A namespace URI may always have 2,048 bytes.
package struct XMLLimits: Sendable, Equatable {
    /// Bytes of the whole document.
    package var bytes: Int
    /// Elements inside one another, the root among them.
    package var depth: Int
    package var elements: Int
    /// Attributes of one element, including namespace declarations.
    package var attributes: Int
    /// Attributes of all elements.
    package var totalAttributes: Int
    /// Bytes of one text between two tags, and of one attribute's value, in UTF-8.
    package var text: Int

    package init(
        bytes: Int = 1 << 20,
        depth: Int = 32,
        elements: Int = 20_000,
        attributes: Int = 32,
        text: Int = 65_536,
        totalAttributes: Int = .max
    ) {
        self.bytes = bytes
        self.depth = depth
        self.elements = elements
        self.attributes = attributes
        self.text = text
        self.totalAttributes = totalAttributes
    }
}
