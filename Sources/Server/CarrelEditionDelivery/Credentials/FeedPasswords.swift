// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
import CarrelBytes

/// Second credentials for feeds: with a session's token as the user name, and worthless without it, so that their secret never
/// changes (Pugpig security interface, `global_auth_password`).
package struct FeedPasswords: Sendable {
    private let key: HMACSHA256

    /// - Parameter secret: 32 bytes.
    package init(secret: Secret) {
        key = HMACSHA256(key: secret)
    }

    /// The password that goes with a token.
    package func password(of token: String) -> String {
        Base64URL.encode(key.authenticate(Array(token.utf8).rawSpan))
    }

    /// Whether the password is the one of ``password(of:)``. Whether the token still lives is another question.
    package func isRight(_ password: String, of token: String) -> Bool {
        guard password.utf8.count <= 64, let given = Base64URL.decode(password) else { return false }
        return key.isValid(given.rawSpan, for: Array(token.utf8).rawSpan)
    }
}
