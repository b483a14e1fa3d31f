// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON

/// A master key sealed under a passphrase: scrypt (RFC 7914), then AES-256-GCM.
enum PassphraseMaster {
    /// The member `master` of a vault's file.
    static func seal(_ master: Secret, passphrase: Secret, scrypt: Scrypt, id: [UInt8]) throws(VaultError) -> JSONObject {
        let salt = Random.bytes(32)
        let key = try key(passphrase, scrypt, salt)
        let sealed = VaultBlob.seal(master, key: key, context: context(scrypt, id))
        return [
            "kdf": "scrypt", "cost": .integer(scrypt.cost), "block-size": .integer(scrypt.blockSize),
            "parallelism": .integer(scrypt.parallelism), "salt": .string(Base64URL.encode(salt)),
            "sealed": .string(Base64URL.encode(sealed)),
        ]
    }

    /// The master key of a vault's file.
    ///
    /// - Throws: `vault.pin` for another passphrase, `vault.damaged`.
    static func open(_ file: VaultFile, passphrase: Secret) throws(VaultError) -> Secret {
        let master = file.master
        guard master["kdf"]?.string == "scrypt", let cost = master["cost"]?.int, let blockSize = master["block-size"]?.int,
            let parallelism = master["parallelism"]?.int,
            let scrypt = try? Scrypt(cost: cost, blockSize: blockSize, parallelism: parallelism),
            let salt = master["salt"]?.string.flatMap({ Base64URL.decode($0) }),
            let sealed = master["sealed"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw VaultError(.damaged, "the vault's file is damaged: its master key cannot be read") }
        do {
            return try VaultBlob.open(sealed, key: key(passphrase, scrypt, salt), context: context(scrypt, file.id))
        } catch {
            guard error.code == .damaged else { throw error }
            throw VaultError(.pin, "the passphrase is wrong", recommendation: "enter the right passphrase")
        }
    }

    private static func key(_ passphrase: Secret, _ scrypt: Scrypt, _ salt: [UInt8]) throws(VaultError) -> Secret {
        guard passphrase.count > 0 else {
            throw VaultError(.pin, "the passphrase is empty", recommendation: "choose a passphrase that is hard to guess")
        }
        do {
            return try scrypt.key(passphrase, salt: salt, count: AESGCM.keyByteCount)
        } catch {
            throw VaultError(.unavailable, "there is not enough memory to check the passphrase")
        }
    }

    private static func context(_ scrypt: Scrypt, _ id: [UInt8]) -> [UInt8] {
        var numbers: [UInt8] = []
        for number in [scrypt.cost, scrypt.blockSize, scrypt.parallelism] { numbers.append(bigEndian: UInt32(number)) }
        return VaultBlob.context("carrel vault 1 master", Array(VaultKind.file.rawValue.utf8), id, numbers)
    }
}
