// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelRights

/// The address of a key in the playlist of an order's audiobook for apps that keep keys themselves:
/// `offline://HOST/v1/stream/hls/ORDER/TICKET/N.key`, with `rotation=1` in its query if the server's keys rotate.
package struct OfflineKeyAddress: Hashable, Sendable {
    /// The ID of the order's own key.
    package let keyID: KeyID
    /// The number of the key in the playlist.
    package let number: Int
    /// Whether the keys rotate.
    package let rotates: Bool

    private static let scheme = "offline://"
    private static let ending = ".key"

    /// - Returns: nil for other addresses.
    package init?(_ text: String) {
        guard text.prefix(Self.scheme.count).lowercased() == Self.scheme else { return nil }
        let address = text.prefix { $0 != "#" }
        let parts = address.prefix { $0 != "?" }.dropFirst(Self.scheme.count).split(separator: "/")
        // host, …, hls, order, ticket, file
        guard parts.count >= 5, parts[parts.count - 4] == "hls", let file = parts.last, file.hasSuffix(Self.ending) else {
            return nil
        }
        let digits = file.dropLast(Self.ending.count)
        guard 1...9 ~= digits.utf8.count, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(digits) else {
            return nil
        }
        keyID = OrderKeys.id(ofOrder: String(parts[parts.count - 3]))
        self.number = number
        let query = address.drop { $0 != "?" }.dropFirst().split(separator: "&")
        rotates = query.contains("rotation=1")
    }
}
