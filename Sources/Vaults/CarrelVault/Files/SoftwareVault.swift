// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Keys in a file, sealed under a master key that something else keeps.
package final class SoftwareVault: BlockingVault {
    private let folder: VaultFolder
    private let keys: VaultKeys

    /// - Parameters:
    ///   - folder: the folder with the vault's file.
    ///   - master: the file's master key.
    /// - Throws: `vault.damaged` for another vault's master key, `vault.absent`.
    package init(_ folder: VaultFolder, master: Secret) throws(VaultError) {
        self.folder = folder
        keys = VaultKeys(master: master)
        _ = try folder.load(checkedBy: keys.file)
    }

    package func makeKey(named name: String, for uses: VaultKeyUses) throws(VaultError) -> P256.PublicKey {
        if let key = try existing(name, for: uses, in: try file()) { return key }
        return try folder.change(checkedBy: keys.file) { file throws(VaultError) in
            if let key = try existing(name, for: uses, in: file) { return key }
            let key = P256.PrivateKey()
            let sealed = VaultBlob.seal(
                key.scalar,
                key: keys.entries,
                context: context(name, uses, key.publicKey, in: file)
            )
            file.keys.append(VaultFile.Key(name: name, uses: uses, publicKey: key.publicKey, sealed: sealed))
            return key.publicKey
        }
    }

    package func publicKey(named name: String) throws(VaultError) -> P256.PublicKey? {
        try file().key(named: name)?.publicKey
    }

    package func sign(_ message: [UInt8], withKey name: String) throws(VaultError) -> [UInt8] {
        try privateKey(name, for: .sign).sign(message.rawSpan)
    }

    package func agree(withKey name: String, other: P256.PublicKey) throws(VaultError) -> Secret {
        try privateKey(name, for: .agree).sharedSecret(with: other)
    }

    package func removeKey(named name: String) throws(VaultError) {
        guard try file().key(named: name) != nil else { return }
        try folder.change(checkedBy: keys.file) { file throws(VaultError) in file.keys.removeAll { $0.name == name } }
    }

    package func seal(_ plaintext: Secret, associated: [UInt8]) throws(VaultError) -> [UInt8] {
        // Without its file the vault would never open these bytes again.
        _ = try file()
        return VaultBlob.seal(plaintext, key: keys.blobs, context: VaultBlob.context("carrel vault 1 sealed", kind, associated))
    }

    package func open(_ sealed: [UInt8], associated: [UInt8]) throws(VaultError) -> Secret {
        try VaultBlob.open(sealed, key: keys.blobs, context: VaultBlob.context("carrel vault 1 sealed", kind, associated))
    }

    private var kind: [UInt8] { Array(folder.kind.rawValue.utf8) }

    private func file() throws(VaultError) -> VaultFile { try folder.load(checkedBy: keys.file) }

    private func existing(_ name: String, for uses: VaultKeyUses, in file: VaultFile) throws(VaultError) -> P256.PublicKey? {
        guard let key = file.key(named: name) else { return nil }
        guard key.uses == uses else { throw .wrongUse(name, uses) }
        return key.publicKey
    }

    private func privateKey(_ name: String, for use: VaultKeyUses) throws(VaultError) -> P256.PrivateKey {
        let file = try file()
        guard let entry = file.key(named: name) else { throw .noKey(name) }
        guard entry.uses.contains(use) else { throw .wrongUse(name, use) }
        let context = context(name, entry.uses, entry.publicKey, in: file)
        let scalar = try VaultBlob.open(entry.sealed, key: keys.entries, context: context)
        guard let key = try? P256.PrivateKey(scalar: scalar), key.publicKey == entry.publicKey else { throw .sealedBytes }
        return key
    }

    private func context(_ name: String, _ uses: VaultKeyUses, _ publicKey: P256.PublicKey, in file: VaultFile) -> [UInt8] {
        VaultBlob.context(
            "carrel vault 1 key",
            kind,
            file.id,
            Array(name.utf8),
            [UInt8(truncatingIfNeeded: uses.rawValue)],
            publicKey.coordinates
        )
    }
}
