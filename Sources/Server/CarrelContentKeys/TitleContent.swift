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

    /// The id of an order's key: not the order's own, which opens the order where orders are capabilities.
    package static func keyID(ofOrder order: String) -> KeyID { KeyID(label: "carrel content key\n\(order)") }

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
