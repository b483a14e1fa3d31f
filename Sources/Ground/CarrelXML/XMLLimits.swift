// SPDX-License-Identifier: Apache-2.0

/// How much of an XML document is taken. The URI of a name space may have 2,048 bytes, whatever the limits.
package struct XMLLimits: Sendable, Equatable {
    /// Bytes of the whole document.
    package var bytes: Int
    /// Elements inside one another, the root among them.
    package var depth: Int
    package var elements: Int
    /// Attributes of one element, declarations of name spaces among them.
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
