// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCatalog
package import CarrelRights
package import CarrelStore
import CarrelWebAPI

/// Titles of the catalog as content of licenses.
package enum TitleContent {
    /// The content id of a title.
    package static func id(ofTitle title: String) -> String { "urn:carrel:title:\(title)" }

    /// Keys of one title that a license has, at most: the newest.
    package static let keyLimit = 64

    /// The id of a key of a title that is not an audiobook.
    ///
    /// - Parameters:
    ///   - title: the title's id.
    ///   - number: 1 for the first contents that had a key, 2 for the contents after those, and so on.
    /// - Returns: the id.
    package static func keyID(ofTitle title: String, number: Int = 1) -> KeyID {
        KeyID(label: id(ofTitle: title) + (number > 1 ? "\n\(number)" : ""))
    }

    /// Whether a content id is the server's own: packagers choose another.
    static func isReserved(_ content: String) -> Bool { content.lowercased().utf8.starts(with: "urn:carrel:".utf8) }

    /// Whether a content id is of a title.
    static func isID(_ content: String) -> Bool { content.utf8.starts(with: "urn:carrel:title:".utf8) }

    /// The id of an order's key: not the order's own, which opens the order where orders are capabilities.
    package static func keyID(ofOrder order: String) -> KeyID { OrderKeys.id(ofOrder: order) }

    /// The kind of a title.
    ///
    /// - Throws: ``RuleError`` `license.title` without such a title.
    package static func kind(of id: String, in transaction: any Transaction) throws -> Title.Kind {
        guard let kind = try TitleStore.kind(of: id, in: transaction) else {
            throw RuleError(.notFound, "license.title", "the catalog has no title of this id")
        }
        return kind
    }
}
