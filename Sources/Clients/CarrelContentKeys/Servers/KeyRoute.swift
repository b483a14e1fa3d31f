// SPDX-License-Identifier: Apache-2.0

/// The origin of the key of a request.
enum KeyRoute: Sendable, Hashable {
    /// The license server of the player's own service, or a license that is here already.
    case license
    /// The server of an address, whose response is the key.
    case address(String)
    /// A license server of ClearKey, for a key ID.
    case clearKey(String, [UInt8])
}
