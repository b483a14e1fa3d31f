// SPDX-License-Identifier: Apache-2.0

/// Receives the parts of a document while it is read: for documents of a hundred thousand elements, of which little is stored.
package protocol XMLVisitor: AnyObject {
    /// Whether it wants character data now.
    var takesText: Bool { get }

    /// - Parameter tag: lent until this returns.
    func start(_ tag: borrowing XMLTag)

    /// - Parameter text: all character data between two tags.
    func take(_ text: String)

    func end()
}

extension XMLVisitor {
    package var takesText: Bool { false }
    package func take(_ text: String) {}
}
