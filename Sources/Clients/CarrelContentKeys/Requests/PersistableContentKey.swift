// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelPlayer

/// A key that may be stored for use without a network. Its bytes do not leave the package.
public struct PersistableContentKey: Sendable {
    enum Content: Sendable {
        /// A response of the license server, verified and not stored yet.
        case response(PlayerEngine.KeyResponse)
        /// A stored license.
        case license(String)
        /// A key of a server, as a row of the item.
        case row(SavedKeyRow)
    }

    let content: Content

    /// The license that has the key; nil for a key without a license.
    public var license: String? {
        switch content {
        case .response(let response): response.licenseID
        case .license(let id): id
        case .row: nil
        }
    }
}
