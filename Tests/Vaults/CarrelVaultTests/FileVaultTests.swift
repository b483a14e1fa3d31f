// SPDX-License-Identifier: Apache-2.0

import CarrelVaultTPM
import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

@testable import CarrelVault

struct `A vault in a file` {
    @Test func `is made with the folders on its path, for their owner only`() async throws {
        let directory = TemporaryDirectory()
        let folder = directory.file("a/b/vault")
        let cost = try Scrypt(cost: 1024, blockSize: 8, parallelism: 1)
        let passphrase = Secret(Array("of a reader".utf8))
        let vault = try await Vault.file(folder: folder, passphrase: passphrase, create: true, scrypt: cost)
        #expect(vault.level == .passphrase)
        #expect(
            try await checkProcess(["stat", "-c", "%a", directory.file("a"), directory.file("a/b"), folder]) == "700\n700\n700\n"
        )
        await #expect(throws: VaultError.self) {
            _ = try await Vault.file(folder: directory.file("c/d"), passphrase: passphrase, create: false, scrypt: cost)
        }
        #expect(directory.read("c") == nil)
    }

    @Test func `opens with its passphrase only`() async throws {
        var place = try await VaultPlace(.file)
        _ = try await place.create().makeKey(named: "device")
        for wrong in ["", "correct horsE", "correct horse ", "correct"] {
            place.passphrase = wrong
            #expect(await code { () throws(VaultError) in try await place.open() } == .pin)
        }
        let empty = try await VaultPlace(.file)
        #expect(
            await code { () throws(VaultError) in try await Vault.file(folder: empty.folder, passphrase: "", create: true) }
                == .pin
        )
    }

    @Test func `is strong unless a test asks for less`() async throws {
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        _ = try await Vault.file(folder: folder, passphrase: "Ω horse", create: true)
        let master = try VaultFolder(folder, kind: .file).load().master
        #expect(master["cost"] == 131_072 && master["block-size"] == 8 && master["parallelism"] == 1)
    }

    @Test func `notices an altered byte at each place, a cut and an addition`() async throws {
        let place = try await VaultPlace(.file)
        let vault = try await place.create()
        _ = try await vault.makeKey(named: "a")
        _ = try await vault.makeKey(named: "b", for: .sign)
        let bytes = try #require(place.directory.read("vault/vault.json"))
        for index in bytes.indices {
            var altered = bytes
            altered[index] ^= index % 2 == 0 ? 0x01 : 0x20
            #expect(throws: VaultError(.damaged, ""), "byte \(index)") { try VaultFile(altered, kind: .file) }
            guard index % 20 < 2 else { continue }
            place.directory.write("vault/vault.json", altered)
            #expect(await code { () throws(VaultError) in try await place.open() } == .damaged, "byte \(index)")
        }
        for altered in [[], Array(bytes.dropLast()), bytes + [0x0a], Array(repeating: 0x20, count: VaultFile.byteLimit + 1)] {
            place.directory.write("vault/vault.json", altered)
            #expect(await code { () throws(VaultError) in try await place.open() } == .damaged)
        }
        place.directory.write("vault/vault.json", bytes)
        #expect(try await place.open().publicKey(named: "a") != nil)
    }

    @Test func `notices entries that were exchanged, renamed or removed by an attacker who knows the format`() async throws {
        let place = try await VaultPlace(.file)
        let vault = try await place.create()
        _ = try await vault.makeKey(named: "a")
        _ = try await vault.makeKey(named: "b")
        let folder = VaultFolder(place.folder, kind: .file)
        let file = try folder.load()
        let attacker = HMACSHA256(key: Secret.random(count: 32))
        func key(_ name: String, _ key: VaultFile.Key, uses: VaultKeyUses = [.sign, .agree]) -> VaultFile.Key {
            VaultFile.Key(name: name, uses: uses, publicKey: key.publicKey, sealed: key.sealed)
        }
        let (a, b) = (file.keys[0], file.keys[1])
        for keys in [[b], [key("b", a), key("a", b)], [key("c", a), b], [key("a", a, uses: .sign), b], []] {
            var altered = file
            altered.keys = keys
            try folder.save(altered, authenticatedBy: attacker)
            #expect(await code { () throws(VaultError) in try await place.open() } == .damaged)
            #expect(await code { () throws(VaultError) in try await vault.publicKey(named: "b") } == .damaged)
        }
        // Not even the authentication code would help: each entry is bound to its name, its purposes and its public half.
        let master = try PassphraseMaster.open(file, passphrase: Secret(Array(place.passphrase.utf8)))
        var altered = file
        altered.keys = [key("b", a), key("a", b)]
        try folder.save(altered, authenticatedBy: VaultKeys(master: master).file)
        #expect(await code { () throws(VaultError) in try await vault.sign([], withKey: "a") } == .damaged)
    }

    @Test func `does not have its keys in clear in any of its files`() async throws {
        let place = try await VaultPlace(.file)
        let vault = try await place.create()
        let publicKey = try await vault.makeKey(named: "device")
        let file = try VaultFolder(place.folder, kind: .file).load()
        let master = try PassphraseMaster.open(file, passphrase: Secret(Array(place.passphrase.utf8)))
        let entry = try #require(file.key(named: "device"))
        let context = VaultBlob.context(
            "carrel vault 1 key",
            Array("file".utf8),
            file.id,
            Array("device".utf8),
            [3],
            publicKey.coordinates
        )
        let scalar = try VaultBlob.open(entry.sealed, key: VaultKeys(master: master).entries, context: context)
        #expect(try P256.PrivateKey(scalar: scalar).publicKey == publicKey)
        let files = try await checkProcess(["ls", "-A", place.folder]).split(separator: "\n")
        #expect(files.count == 2)
        for name in files {
            let bytes = try #require(place.directory.read("vault/\(name)"))
            for secret in [scalar, master] {
                let clear = secret.withBytes { [UInt8](copying: $0) }
                for text in [
                    clear, Array(Hex.encode(clear).utf8), Array(Base64URL.encode(clear).utf8), Array(Base64.encode(clear).utf8),
                ] {
                    #expect(!contains(bytes, text))
                }
            }
        }
    }

    @Test func `gets a new passphrase and keeps its keys, also where it is open`() async throws {
        var place = try await VaultPlace(.file)
        let vault = try await place.create()
        let key = try await vault.makeKey(named: "device")
        let scrypt = try #require(VaultPlace.scrypt)
        let (old, new) = (Secret(Array(place.passphrase.utf8)), Secret([0x31]))
        let folder = place.folder
        func change(_ old: Secret, _ new: Secret) async -> VaultError.Code? {
            await code { () throws(VaultError) in
                try await Vault.changeFilePassphrase(folder: folder, from: old, to: new, scrypt: scrypt)
            }
        }
        #expect(await change(new, old) == .pin)
        #expect(await change(old, Secret([])) == .pin)
        #expect(try await place.open().publicKey(named: "device") == key)
        #expect(await change(old, new) == nil)
        #expect(await code { () throws(VaultError) in try await place.open() } == .pin)
        place.passphrase = "1"
        #expect(try await place.open().publicKey(named: "device") == key)
        let later = try await vault.makeKey(named: "later")
        #expect(try await place.open().publicKey(named: "later") == later)
    }

    @Test(arguments: [(1 << 20, 32, 1), (3, 8, 1), (0, 8, 1), (16, 0, 1), (16, 8, 0), (16, 8, 1000), (-2, 8, 1)])
    func `refuses parameters of scrypt out of range`(cost: Int, blockSize: Int, parallelism: Int) async throws {
        let place = try await VaultPlace(.file)
        _ = try await place.create()
        let folder = VaultFolder(place.folder, kind: .file)
        var file = try folder.load()
        file.master["cost"] = .integer(cost)
        file.master["block-size"] = .integer(blockSize)
        file.master["parallelism"] = .integer(parallelism)
        try folder.save(file, authenticatedBy: HMACSHA256(key: Secret.random(count: 32)))
        #expect(await code { () throws(VaultError) in try await place.open() } == .damaged)
    }

    @Test func `does not wait forever for another process`() throws {
        let directory = TemporaryDirectory()
        let first = VaultFolder(directory.path, kind: .file)
        let second = VaultFolder(directory.path, kind: .file, patience: .milliseconds(50))
        _ = try first.withLock { () throws(VaultError) in
            #expect(throws: VaultError(.unavailable, "")) { try second.withLock { () throws(VaultError) in } }
        }
        try second.withLock { () throws(VaultError) in }
    }

    @Test func `is not read through a link, nor by another kind of vault`() async throws {
        let place = try await VaultPlace(.file)
        _ = try await place.create()
        #expect(throws: VaultError(.absent, "")) { try VaultFolder(place.folder, kind: .tpm).load() }
        try await checkProcess(["mv", "\(place.folder)/vault.json", place.directory.file("elsewhere")])
        try await checkProcess(["ln", "-s", place.directory.file("elsewhere"), "\(place.folder)/vault.json"])
        #expect(await code { () throws(VaultError) in try await place.open() } == .damaged)
        #expect(await code { () throws(VaultError) in try await place.create() } == .exists)
    }

    @Test func `reports a disk without space`() async throws {
        let place = try await VaultPlace(.file)
        let folder = place.directory.file("disk")
        try await checkProcess(["mkdir", folder])
        let script = """
            mount -t tmpfs -o size=8k none "$1" || exit 77
            head -c 8192 /dev/zero >"$1/filler"
            shift
            exec "$@"
            """
        let program = [try vaultProgram(), "create", "file", "\(folder)/vault", "1", "--", "open"]
        let result = try await runProcess(["unshare", "-rm", "sh", "-c", script, "sh", folder] + program)
        if result.errorText.contains("unshare") || result.status == .exited(77) {
            try Test.cancel("unshare gives no user namespace here: no full disk to test with")
        }
        #expect(result.text == "vault.full\n", "\(result.errorText)")
    }
}

struct `An error of a vault` {
    @Test func `has a code, a message and a recommendation`() {
        let error = VaultError(.pin, "the PIN is wrong")
        #expect(error.description == "the PIN is wrong (vault.pin)")
        #expect(error == VaultError(.pin, "another message") && error != VaultError(.locked, "the PIN is wrong"))
        #expect(error.recommendation.hasPrefix("enter the right passphrase or PIN"))
        let codes: [VaultError.Code] = [.unavailable, .locked, .absent, .exists, .pin, .refused, .damaged, .full, .use]
        #expect(Set(codes.map { VaultError($0, "").recommendation }).count == codes.count)
        #expect(codes.allSatisfy { $0.identifier.hasPrefix("vault.") })
    }

    @Test func `is the first that answers, unless a stronger one has an error of its own`() async throws {
        let directory = TemporaryDirectory()
        let (first, second, third) = (directory.file("first"), directory.file("second"), directory.file("third"))
        let missing: @Sendable () async throws -> Vault = {
            try await Vault.tpm(folder: third, tcti: "device:/nowhere/tpm", create: true)
        }
        let file: @Sendable () async throws -> Vault = {
            try await Vault.file(
                folder: first,
                passphrase: Secret([1]),
                create: true,
                scrypt: Scrypt(cost: 1024, blockSize: 8, parallelism: 1)
            )
        }
        let vault = try await Vault.first(of: [missing, file])
        #expect(vault.kind == .file)
        #expect(try Vault.kind(inFolder: first) == .file)
        #expect(try Vault.kind(inFolder: second) == nil)
        // there is one already: an answer, though an error
        let never: @Sendable () async throws -> Vault = { throw VaultError(.locked, "not to be asked") }
        await #expect(throws: VaultError(.exists, "")) { try await Vault.first(of: [missing, file, never]) }
        await #expect(throws: VaultError(.unavailable, "")) { try await Vault.first(of: [missing]) }
        directory.write("first/vault.json", Array("{}".utf8))
        #expect(throws: VaultError(.damaged, "")) { try Vault.kind(inFolder: first) }
    }

    @Test func `levels have an order and a text`() {
        #expect(VaultLevel.none < .passphrase && VaultLevel.passphrase < .os && VaultLevel.os < .hardware)
        #expect(VaultLevel.allCases.map(\.rawValue) == ["none", "passphrase", "os", "hardware"])
    }
}
