// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// The keys of an order's audiobook, as the server and a player derive them from the order's own key.
package enum OrderKeys {
    /// The ID of an order's key.
    ///
    /// - Parameter order: the order's ID.
    /// - Returns: the ID.
    package static func id(ofOrder order: String) -> KeyID { KeyID(label: "carrel content key\n\(order)") }

    /// The key of a number in a playlist.
    ///
    /// - Parameters:
    ///   - number: the number, from 0.
    ///   - own: the order's own key.
    ///   - rotates: whether the keys of the server rotate: then key 0 is derived too.
    /// - Returns: the key; nil if there is no such number.
    package static func key(_ number: Int, of own: Secret, rotates: Bool) -> Secret? {
        guard rotates else { return number == 0 ? own : nil }
        guard number >= 0 else { return nil }
        return HKDF.sha256(secret: own, salt: [], info: "carrel content key \(number)", count: KeyID.byteCount)
    }
}
