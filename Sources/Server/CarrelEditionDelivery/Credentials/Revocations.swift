// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts

/// The revocations up to a number, as they bear on credentials.
struct Revocations: Sendable {
    /// The number of the last revocation.
    private(set) var serial: UInt32 = 0
    private var all: UInt32 = 0
    private var products: [String: UInt32] = [:]
    private var accounts: [String: UInt32] = [:]
    /// The accounts by the tags that credentials carry.
    private var tags: [UInt64: UInt32] = [:]

    /// Adds later revocations, up to a number.
    mutating func add(_ later: [Revocation.Numbered], upTo serial: UInt32, _ credentials: EditionCredentials) {
        for (revocation, number) in later {
            switch revocation {
            case .account(let id):
                accounts[id] = number
                for tag in credentials.tags(of: id) { tags[tag] = number }
            case .product(let id): products[id] = number
            case .all: all = number
            }
        }
        self.serial = serial
    }

    /// Finds the tags again, as keys have come and gone.
    mutating func useKeys(of credentials: EditionCredentials) {
        tags = [:]
        for (id, number) in accounts {
            for tag in credentials.tags(of: id) { tags[tag] = number }
        }
    }

    /// Whether a genuine pair for a product is revoked.
    func revokes(_ pair: EditionCredentials.Verified, for product: String) -> Bool {
        // From a future that the database does not know: it was restored from a backup, without the revocations since.
        if pair.serial > serial { return true }
        return pair.serial < all || pair.serial < products[product] ?? 0 || pair.serial < tags[pair.tag] ?? 0
    }

    /// Whether a pair without a serial is revoked: every revocation that may include it counts, permanently.
    func revokesUndated(for product: String) -> Bool {
        all > 0 || products[product] != nil
    }
}
