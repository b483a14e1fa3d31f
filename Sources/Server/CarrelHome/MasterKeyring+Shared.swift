// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
import CarrelThreads

extension MasterKeyring {
    /// The keyring of a running service: replaced by a rotation, and read again when another process has rotated it.
    package final class Shared: Sendable {
        private let home: Home
        private let keyring: Locked<MasterKeyring>

        /// - Parameters:
        ///   - home: the home of the keys.
        ///   - keyring: its keys, as the database knows them.
        init(of home: Home, _ keyring: MasterKeyring) {
            self.home = home
            self.keyring = Locked(keyring)
        }

        /// The keyring that wraps new secrets.
        package var current: MasterKeyring { keyring.withLock { $0 } }

        /// Uses a keyring that this process has written.
        package func use(_ fresh: MasterKeyring) {
            keyring.withLock { $0 = fresh }
        }

        package func unwrap(_ wrapped: Wrapped) throws -> Secret {
            let known = current
            if known.has(wrapped.masterVersion) { return try known.unwrap(wrapped) }
            let fresh = try MasterKeyring(of: home).wrapping(under: known.current)
            use(fresh)
            return try fresh.unwrap(wrapped)
        }

        /// A secret that signs, as the database keeps it.
        package func unwrap(_ id: UInt8, _ wrapped: Wrapped) throws -> SigningSecret {
            guard let secret = SigningSecret(id: id, stored: try unwrap(wrapped)) else {
                throw ServerError(.home, "the database contains an invalid signing secret")
            }
            return secret
        }
    }
}
