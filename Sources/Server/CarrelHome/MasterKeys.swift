// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelStore

/// The master keys of a database, from their fingerprints in it: the existing versions, and the current one.
///
/// Every home on the database needs each of them. A home whose key differs or is missing is refused, because the others could not
/// unwrap its secrets.
package struct MasterKeys: Sendable {
    package struct Known: Sendable, Equatable {
        package let version: Int64
        package let fingerprint: [UInt8]
        /// Whether something may be wrapped under it; false for a key that was added for the next rotation.
        package let isActive: Bool

        package init(version: Int64, fingerprint: [UInt8], isActive: Bool) {
            self.version = version
            self.fingerprint = fingerprint
            self.isActive = isActive
        }
    }

    package let known: [Known]

    package init(_ known: [Known]) { self.known = known }

    /// The version that new secrets are wrapped under.
    package var current: Int64? { known.last(where: \.isActive)?.version }

    /// The version that was added for the next rotation.
    package var added: Int64? { known.last.flatMap { $0.isActive ? nil : $0.version } }

    /// Refuses a keyring that lacks one of the keys, or has another one of the same version.
    ///
    /// - Throws: ``ServerError`` `masterKey` with the version and the file.
    package func require(_ keyring: MasterKeyring) throws(ServerError) {
        for key in known {
            guard let fingerprint = keyring.fingerprint(of: key.version) else {
                throw ServerError(
                    .masterKey,
                    "\(keyring.path) lacks version \(key.version) of the master key, which this database needs: "
                        + "add it with 'carrel keys add --from FILE'; FILE is a copy of master.key of a home that has it"
                )
            }
            guard fingerprint == key.fingerprint else {
                throw ServerError(
                    .masterKey,
                    "version \(key.version) of the master key in \(keyring.path) does not belong to this database: "
                        + "remove its line and add the right key with 'carrel keys add --from FILE'"
                )
            }
        }
    }

    /// The versions that a keyring has as the database knows them.
    package func held(by keyring: MasterKeyring) -> [Int64] {
        known.filter { keyring.fingerprint(of: $0.version) == $0.fingerprint }.map(\.version)
    }
}
