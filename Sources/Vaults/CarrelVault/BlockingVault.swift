// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// A back end with blocking calls, which ``ThreadedVault`` makes on one thread. The calls correspond to ``VaultBackend``.
package protocol BlockingVault: AnyObject {
    func makeKey(named name: String, for uses: VaultKeyUses) throws(VaultError) -> P256.PublicKey
    func publicKey(named name: String) throws(VaultError) -> P256.PublicKey?
    func sign(_ message: [UInt8], withKey name: String) throws(VaultError) -> [UInt8]
    func agree(withKey name: String, other: P256.PublicKey) throws(VaultError) -> Secret
    func removeKey(named name: String) throws(VaultError)
    func seal(_ plaintext: Secret, associated: [UInt8]) throws(VaultError) -> [UInt8]
    func open(_ sealed: [UInt8], associated: [UInt8]) throws(VaultError) -> Secret
}
