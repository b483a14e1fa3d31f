// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import CarrelVault
import Glibc
import Testing

/// The promises of every vault, with each kind for real.
struct `A vault` {
    private static let message = Array("a message".utf8)

    @Test(arguments: VaultKind.allCases)
    func `keeps a key whose signatures verify, also after it was opened again`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let name = place.name("device")
        let first = try await place.create()
        let key = try await first.makeKey(named: name, for: .sign)
        let signature = try await first.sign(Self.message, withKey: name)
        #expect(signature.count == 64)
        #expect(key.verifies(signature, Self.message))
        #expect(!key.verifies(signature, [UInt8]("a massage".utf8)))
        await first.close()
        let second = try await place.open()
        #expect(try await second.publicKey(named: name) == key)
        #expect(key.verifies(try await second.sign([], withKey: name), [UInt8]()))
    }

    @Test(arguments: VaultKind.allCases)
    func `agrees on the secret that the other side has`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let name = place.name("device")
        let vault = try await place.create()
        let key = try await vault.makeKey(named: name, for: .agree)
        for _ in 0..<3 {
            let other = P256.PrivateKey()
            #expect(try await vault.agree(withKey: name, other: other.publicKey) == other.sharedSecret(with: key))
        }
    }

    @Test(arguments: VaultKind.allCases)
    func `keeps the key where one of that name is made again, and refuses other purposes`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let (both, signs) = (place.name("both"), place.name("signs"))
        let vault = try await place.create()
        let key = try await vault.makeKey(named: both)
        #expect(try await vault.makeKey(named: both) == key)
        _ = try await vault.sign(Self.message, withKey: both)
        _ = try await vault.agree(withKey: both, other: key)
        #expect(await code { () throws(VaultError) in try await vault.makeKey(named: both, for: .sign) } == .use)
        _ = try await vault.makeKey(named: signs, for: .sign)
        #expect(await code { () throws(VaultError) in try await vault.agree(withKey: signs, other: key) } == .use)
        let agrees = place.name("agrees")
        _ = try await vault.makeKey(named: agrees, for: .agree)
        #expect(await code { () throws(VaultError) in try await vault.sign(Self.message, withKey: agrees) } == .use)
    }

    @Test(arguments: VaultKind.allCases)
    func `has no key that was not made or was removed`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let name = place.name("device")
        let vault = try await place.create()
        func expectNoKey() async throws {
            #expect(try await vault.publicKey(named: name) == nil)
            #expect(await code { () throws(VaultError) in try await vault.sign(Self.message, withKey: name) } == .absent)
            let other = P256.PrivateKey().publicKey
            #expect(await code { () throws(VaultError) in try await vault.agree(withKey: name, other: other) } == .absent)
            try await vault.removeKey(named: name)
        }
        try await expectNoKey()
        let key = try await vault.makeKey(named: name)
        try await vault.removeKey(named: name)
        try await expectNoKey()
        #expect(try await vault.makeKey(named: name) != key)
    }

    @Test(arguments: VaultKind.allCases)
    func `opens only what it sealed, with the same associated bytes`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let vault = try await place.create()
        let associated = Array("license 7".utf8)
        for count in [0, 1, 32, 70_000] {
            let plaintext = Secret.random(count: count)
            let sealed = try await vault.seal(plaintext, associated: associated)
            #expect(try await vault.open(sealed, associated: associated) == plaintext)
            #expect(sealed.count <= count + 130)
            #expect(try await vault.seal(plaintext, associated: associated) != sealed)
            for other in [[], Array("license 8".utf8), associated + [0]] {
                #expect(await code { () throws(VaultError) in try await vault.open(sealed, associated: other) } == .damaged)
            }
            #expect(try await place.open().open(sealed, associated: associated) == plaintext)
        }
        let sealed = try await vault.seal(Secret.random(count: 16), associated: associated)
        for cut in [[], Array(sealed.dropLast()), Array(sealed.dropFirst()), sealed + [0]] {
            #expect(await code { () throws(VaultError) in try await vault.open(cut, associated: associated) } != nil)
        }
        for index in sealed.indices where index % (kind == .tpm ? 13 : kind == .pkcs11 ? 3 : 1) == 0 {
            var altered = sealed
            altered[index] ^= 0x10
            let found = await code { () throws(VaultError) in try await vault.open(altered, associated: associated) }
            // on a token, the id of the key that sealed comes first
            #expect(found == .damaged || (kind == .pkcs11 && found == .absent), "byte \(index)")
        }
    }

    @Test(arguments: VaultKind.allCases)
    func `does not open what another vault sealed`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let other = try await VaultPlace(kind == .file ? .secretService : .file)
        let sealed = try await other.create().seal(Secret.random(count: 64), associated: [])
        let vault = try await place.create()
        #expect(await code { () throws(VaultError) in try await vault.open(sealed, associated: []) } != nil)
        if place.hasFile {
            let second = try await VaultPlace(kind)
            let same = try await second.create().seal(Secret.random(count: 64), associated: [])
            #expect(await code { () throws(VaultError) in try await vault.open(same, associated: []) } == .damaged)
        }
    }

    @Test(arguments: VaultKind.allCases)
    func `gives all instances and processes that make a key at the same time the same one`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let name = place.name("device")
        let first = try await place.create()
        let second = try await place.open()
        let command = [try vaultProgram()] + place.arguments + ["--", "make", name]
        async let a = first.makeKey(named: name)
        async let b = second.makeKey(named: name)
        async let c = checkProcess(command)
        async let d = checkProcess(command)
        let key = try await a
        #expect(try await b == key)
        #expect(try await c == Hex.encode(key.coordinates) + "\n")
        #expect(try await d == Hex.encode(key.coordinates) + "\n")
        #expect(try await first.publicKey(named: name) == key)
    }

    @Test(arguments: VaultKind.allCases)
    func `answers many calls at a time, and none after it is closed`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let name = place.name("device")
        let vault = try await place.create()
        let key = try await vault.makeKey(named: name)
        let other = P256.PrivateKey()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<12 {
                group.addTask {
                    if number % 3 == 0 {
                        return try await vault.agree(withKey: name, other: other.publicKey) == other.sharedSecret(with: key)
                    }
                    let message = Array("message \(number)".utf8)
                    return key.verifies(try await vault.sign(message, withKey: name), message)
                }
            }
            for try await isValid in group { #expect(isValid) }
        }
        await vault.close()
        await vault.close()
        #expect(await code { () throws(VaultError) in try await vault.sign(Self.message, withKey: name) } == .unavailable)
    }

    @Test(arguments: VaultKind.allCases)
    func `says what it is`(kind: VaultKind) async throws {
        let vault = try await VaultPlace(kind).create()
        let levels: [VaultKind: VaultLevel] = [.file: .passphrase, .secretService: .os, .pkcs11: .hardware, .tpm: .hardware]
        #expect(vault.kind == kind && vault.level == levels[kind])
        #expect(vault.promises.isNonExportable == (vault.level == .hardware))
        #expect(!vault.promises.detectsRollback)
        #expect(vault.description.hasPrefix("\(kind.rawValue) vault, level \(vault.level.rawValue): keys "))
    }

    @Test(arguments: VaultKind.allCases.filter { $0 != .pkcs11 })
    func `is never made silently, and never replaced`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        #expect(await code { () throws(VaultError) in try await place.open() } == .absent)
        #expect(unsafe access(place.folder, F_OK) != 0)
        let vault = try await place.create()
        let key = try await vault.makeKey(named: "device")
        #expect(await code { () throws(VaultError) in try await place.create() } == .exists)
        #expect(try await place.open().publicKey(named: "device") == key)
        #expect(unsafe unlink("\(place.folder)/vault.json") == 0)
        #expect(await code { () throws(VaultError) in try await place.open() } == .absent)
        #expect(await code { () throws(VaultError) in try await vault.sign(Self.message, withKey: "device") } == .absent)
        #expect(await code { () throws(VaultError) in try await vault.seal(Secret([1]), associated: []) } == .absent)
        #expect(await code { () throws(VaultError) in try await vault.makeKey(named: "device") } == .absent)
        let nested = VaultPlace.missing(place)
        #expect(await code { () throws(VaultError) in try await nested.open() } == .absent)
        let other = try await nested.create().makeKey(named: "device")
        #expect(try await nested.open().publicKey(named: "device") == other, "the folders on its path are made")
    }

    @Test(arguments: VaultKind.allCases.filter { $0 != .pkcs11 })
    func `has all acknowledged keys after a process that makes keys was killed`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind, isAlone: true)
        let before = try await place.create().makeKey(named: "before")
        let program = try vaultProgram()
        for round in 0..<3 {
            let process = try BackgroundProcess([program] + place.arguments + ["--", "fill", "key-\(round)-"])
            _ = try await process.waitForLine(containing: "key-\(round)-0")
            try await Task.sleep(for: .microseconds(Int.random(in: 0...30_000)))
            #expect(await process.kill() == .signaled(SIGKILL))
            try await place.sweep()
            let vault = try await place.open()
            #expect(try await vault.publicKey(named: "before") == before)
            for line in process.output.split(separator: "\n") where process.output.hasSuffix("\n") {
                let words = line.split(separator: " ")
                #expect(try await vault.publicKey(named: String(words[0])).map { Hex.encode($0.coordinates) } == String(words[1]))
            }
            #expect(before.verifies(try await vault.sign(Self.message, withKey: "before"), Self.message))
        }
    }

    @Test(arguments: VaultKind.allCases.filter { $0 != .pkcs11 })
    func `keeps its old content when the disk is full`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let program = try vaultProgram()
        let arguments = place.arguments
        let never = try await runProcess([program, "create", "file-size=100"] + arguments + ["--", "open"])
        #expect(never.text == "vault.full\n", "\(never.errorText)")
        #expect(await code { () throws(VaultError) in try await place.open() } == .absent)
        let vault = try await place.create()
        let key = try await vault.makeKey(named: "device")
        let full = try await runProcess([program, "file-size=1200"] + arguments + ["--", "fill", "more-"])
        #expect(full.text.hasSuffix("vault.full\n"), "\(full.text)\(full.errorText)")
        #expect(try await vault.publicKey(named: "device") == key)
        _ = try await vault.makeKey(named: "later")
        #expect(try await place.open().publicKey(named: "later") != nil)
        let files = try await checkProcess(["ls", "-A", place.folder])
        #expect(files == "vault.json\nvault.lock\n")
    }

    @Test(arguments: VaultKind.allCases.filter { $0 != .pkcs11 })
    func `has files that only their owner reads, without plaintext`(kind: VaultKind) async throws {
        let place = try await VaultPlace(kind)
        let vault = try await place.create()
        let plaintext = Array("the key of a book, which is secret".utf8)
        let sealed = try await vault.seal(Secret(plaintext), associated: [])
        #expect(!contains(sealed, plaintext))
        _ = try await vault.makeKey(named: "device")
        for name in ["vault.json", "vault.lock"] {
            var status = stat()
            #expect(unsafe stat("\(place.folder)/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600)
            let bytes = try #require(place.directory.read("vault/\(name)"))
            #expect(!contains(bytes, plaintext) && !contains(bytes, Array(place.passphrase.utf8)))
        }
    }
}

extension VaultPlace {
    /// A place like another in a folder whose parent does not exist.
    static func missing(_ place: VaultPlace) -> VaultPlace {
        var copy = place
        copy.below = "nowhere/"
        return copy
    }
}
