// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto

/// Credentials that another server issued in the field's legacy scheme, accepted while its readers migrate: the
/// password is the SHA-1 of product, user name and a shared secret, separated by colons, in hexadecimal.
///
/// They have no expiry and name no account, so only revoking a product or all of them ends them.
package struct SHA1Credentials: Sendable {
    private let secret: Secret
    private let until: Instant?

    /// - Parameters:
    ///   - secret: the secret shared with the other server.
    ///   - until: the end of their acceptance; nil for no end.
    package init(secret: Secret, until: Instant?) {
        self.secret = secret
        self.until = until
    }

    /// Whether the pair has the form of the scheme; in it, a colon would let one pair pass for another.
    func couldBe(_ pair: EditionCredentials.Pair) -> Bool {
        pair.password.utf8.count == 2 * SHA1.byteCount && pair.userID.utf8.count <= 4096
            && !pair.userID.utf8.contains(UInt8(ascii: ":"))
    }

    /// Whether the pair opens the product; never a product with a colon in its id.
    func accepts(_ pair: EditionCredentials.Pair, product: String, at now: Instant) -> Bool {
        guard until.map({ now < $0 }) ?? true, !product.isEmpty, !product.utf8.contains(UInt8(ascii: ":")), couldBe(pair),
            let given = Hex.decode(pair.password)
        else {
            return false
        }
        var message = Array("\(product):\(pair.userID):".utf8)
        secret.withBytes { message += [UInt8](copying: $0) }
        return constantTimeEqual(given.rawSpan, SHA1.hash(message.rawSpan).rawSpan)
    }
}
