// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelThreads
import CarrelVault
import Glibc

/// Keys that only one TPM can use; the file has them encrypted by it. Each operation connects to the TPM and leaves nothing in it.
final class TPMVault: BlockingVault {
    private let folder: VaultFolder
    private let tcti: String
    private let auth: Secret?
    /// Authenticates the file. It follows from the master key, which is in memory only while bytes are sealed or opened.
    private let fileKey: HMACSHA256

    init(_ folder: VaultFolder, tcti: String, auth: Secret?, create: Bool) throws(VaultError) {
        self.folder = folder
        self.tcti = tcti
        // TPMs leave zeros out that end an authorization value, so that it is hashed first.
        self.auth = auth.map { HKDF.sha256(secret: $0, salt: [], info: "carrel vault 1 tpm authorization", count: 32) }
        if create { try Self.create(folder, tcti, self.auth) }
        let file = try folder.load()
        let master = try Self.withConnection(tcti, self.auth) { chip throws(TPMFailure) in try Self.master(file, chip) }
        fileKey = VaultKeys(master: master).file
        try file.check(with: fileKey)
    }

    func makeKey(named name: String, for uses: VaultKeyUses) throws(VaultError) -> P256.PublicKey {
        if let key = try existing(name, for: uses, in: try file()) { return key }
        return try folder.change(checkedBy: fileKey) { file throws(VaultError) in
            if let key = try existing(name, for: uses, in: file) { return key }
            let master = file.master
            let (publicKey, object) = try withConnection { chip throws(TPMFailure) in
                try Self.check(master, chip)
                return try chip.makeKey(uses)
            }
            file.keys.append(VaultFile.Key(name: name, uses: uses, publicKey: publicKey, sealed: object))
            return publicKey
        }
    }

    func publicKey(named name: String) throws(VaultError) -> P256.PublicKey? { try file().key(named: name)?.publicKey }

    func sign(_ message: [UInt8], withKey name: String) throws(VaultError) -> [UInt8] {
        let digest = SHA256.hash(message.rawSpan)
        return try use(name, for: .sign) { chip, object throws(TPMFailure) in try chip.sign(digest, with: object) }
    }

    func agree(withKey name: String, other: P256.PublicKey) throws(VaultError) -> Secret {
        try use(name, for: .agree) { chip, object throws(TPMFailure) in try chip.agree(with: object, other) }
    }

    func removeKey(named name: String) throws(VaultError) {
        guard try file().key(named: name) != nil else { return }
        try folder.change(checkedBy: fileKey) { file throws(VaultError) in file.keys.removeAll { $0.name == name } }
    }

    func seal(_ plaintext: Secret, associated: [UInt8]) throws(VaultError) -> [UInt8] {
        VaultBlob.seal(plaintext, key: try blobKey(), context: Self.context(associated))
    }

    func open(_ sealed: [UInt8], associated: [UInt8]) throws(VaultError) -> Secret {
        try VaultBlob.open(sealed, key: try blobKey(), context: Self.context(associated))
    }

    private static func create(_ folder: VaultFolder, _ tcti: String, _ auth: Secret?) throws(VaultError) {
        try folder.create { () throws(VaultError) in
            let master = Secret.random(count: 32)
            let description = try withConnection(tcti, auth) { chip throws(TPMFailure) -> JSONObject in
                let sealed = try chip.seal(master)
                return ["chip": .string(name(of: chip)), "sealed": .string(Base64URL.encode(sealed))]
            }
            return (VaultFile(.tpm, master: description), VaultKeys(master: master).file)
        }
    }

    private static func context(_ associated: [UInt8]) -> [UInt8] {
        VaultBlob.context("carrel vault 1 sealed", Array(VaultKind.tpm.rawValue.utf8), associated)
    }

    private func file() throws(VaultError) -> VaultFile { try folder.load(checkedBy: fileKey) }

    private func existing(_ name: String, for uses: VaultKeyUses, in file: VaultFile) throws(VaultError) -> P256.PublicKey? {
        guard let key = file.key(named: name) else { return nil }
        guard key.uses == uses else { throw .wrongUse(name, uses) }
        return key.publicKey
    }

    private func use<Value: Sendable>(
        _ name: String,
        for use: VaultKeyUses,
        _ work: (TPMConnection, [UInt8]) throws(TPMFailure) -> Value
    ) throws(VaultError) -> Value {
        let file = try file()
        guard let key = file.key(named: name) else { throw .noKey(name) }
        guard key.uses.contains(use) else { throw .wrongUse(name, use) }
        return try withConnection { chip throws(TPMFailure) in
            try Self.check(file.master, chip)
            return try work(chip, key.sealed)
        }
    }

    private func blobKey() throws(VaultError) -> Secret {
        let file = try file()
        let master = try withConnection { chip throws(TPMFailure) in try Self.master(file, chip) }
        return VaultKeys(master: master).blobs
    }

    private static func master(_ file: VaultFile, _ chip: TPMConnection) throws(TPMFailure) -> Secret {
        try check(file.master, chip)
        guard let sealed = file.master["sealed"]?.string.flatMap({ Base64URL.decode($0) }) else {
            throw TPMFailure(VaultError(.damaged, "the vault's file is damaged: its master key cannot be read"))
        }
        return try chip.unseal(sealed)
    }

    /// Checks that the vault was made in this TPM.
    private static func check(_ master: JSONObject, _ chip: TPMConnection) throws(TPMFailure) {
        guard master["chip"]?.string == name(of: chip) else {
            throw TPMFailure(
                VaultError(
                    .absent,
                    "the vault was made in another TPM, or the TPM was cleared since",
                    recommendation: "use the device of the vault, or register this device again"
                )
            )
        }
    }

    private static func name(of chip: TPMConnection) -> String {
        let key = chip.storageKey
        return Base64URL.encode(SHA256.hash(key.rawSpan))
    }

    /// One operation of this process at a time for each TPM: a TPM without a resource manager has room for one or two.
    private static let turns = Locked<[String: Locked<Void>]>([:])

    private func withConnection<Value: Sendable>(_ work: (TPMConnection) throws(TPMFailure) -> Value) throws(VaultError) -> Value
    {
        try Self.withConnection(tcti, auth, work)
    }

    /// Runs an operation in a new connection; retries for a while if other programs fill the TPM.
    private static func withConnection<Value: Sendable>(
        _ tcti: String,
        _ auth: Secret?,
        _ work: (TPMConnection) throws(TPMFailure) -> Value
    ) throws(VaultError) -> Value {
        let turn = turns.withLock { turns in
            if let turn = turns[tcti] { return turn }
            let turn = Locked(())
            turns[tcti] = turn
            return turn
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            do throws(TPMFailure) {
                return try turn.withLock { _ throws(TPMFailure) in try work(TPMConnection(tcti: tcti, auth: auth)) }
            } catch {
                guard error.isBusy, ContinuousClock.now < deadline else { throw error.vaultError }
            }
            // The connection has ended, and with it all that it had in the TPM.
            usleep(.random(in: 5_000...60_000))
        }
    }
}
