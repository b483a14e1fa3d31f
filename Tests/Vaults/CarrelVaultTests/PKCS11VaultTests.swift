// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import CarrelVault
import Testing

@testable import CarrelVaultPKCS11

struct `A vault on a token` {
    private static let label = PKCS11Token.label(SoftToken.label)

    private func open(
        _ token: PKCS11Token = label,
        module: String? = nil,
        pin: String? = SoftToken.pin
    ) async throws -> VaultError.Code? {
        let module = if let module { module } else { try await SoftToken.shared().module }
        return await code { () throws(VaultError) in try await Vault.pkcs11(module: module, token: token, pin: pin) }
    }

    @Test func `opens with its PIN only, also where the token is open already`() async throws {
        let module = try await SoftToken.shared().module
        for pin in ["", "1234567", "000000"] {
            let result = try await runProcess([try vaultProgram(), "pkcs11", module, SoftToken.label, pin, "--", "open"])
            #expect(result.text == "vault.pin\n", "\(pin): \(result.text)")
        }
        let vault = try await Vault.pkcs11(module: module, token: Self.label, pin: SoftToken.pin)
        #expect(try await open(pin: "000000") == .pin)
        #expect(try await open(pin: SoftToken.pin) == nil)
        await vault.close()
    }

    @Test func `names the token or module that is missing`() async throws {
        #expect(try await open(.label("no such token")) == .absent)
        #expect(try await open(.serial("0000")) == .absent)
        #expect(try await open(module: "/nowhere/module.so") == .unavailable)
        #expect(try await open(module: "libz.so.1") == .unavailable)
        let library = try await checkProcess(["sh", "-c", "ls /usr/lib/*/libz.so.1 /lib/*/libz.so.1 2>/dev/null | head -n 1"])
        #expect(try await open(module: String(library.dropLast())) == .unavailable)
    }

    @Test func `finds a token by its serial number`() async throws {
        let token = try await SoftToken.shared()
        let tool = try requirePeer("softhsm2-util")
        var serial: String?
        // while another process writes to a token, SoftHSM shows it without a label
        for _ in 0..<20 where serial == nil {
            let lines = try await checkProcess([tool, "--show-slots"]).split(separator: "\n").map { $0.split(separator: ":") }
            func values(_ name: String) -> [String] {
                lines.filter { $0.count == 2 && $0[0].contains(name) }.map { $0[1].drop { $0 == " " }.trimmingSuffix() }
            }
            serial = values("Label").firstIndex(of: SoftToken.other).map { values("Serial number")[$0] }
        }
        let found = try #require(serial)
        let vault = try await Vault.pkcs11(module: token.module, token: .serial(found), pin: SoftToken.pin, level: .none)
        #expect(vault.level == .none)
        _ = try await vault.makeKey(named: "on-the-other")
        let first = try await Vault.pkcs11(module: token.module, token: Self.label, pin: SoftToken.pin)
        #expect(try await first.publicKey(named: "on-the-other") == nil)
    }

    @Test func `has no private key that can be exported`() async throws {
        let token = try await SoftToken.shared()
        let tool = try requirePeer("pkcs11-tool")
        let vault = try await Vault.pkcs11(module: token.module, token: .label(SoftToken.inspected), pin: SoftToken.pin)
        let key = try await vault.makeKey(named: "device")
        _ = try await vault.agree(withKey: "device", other: key)
        _ = try await vault.seal(Secret.random(count: 16), associated: [])
        let login = [tool, "--module", token.module, "--token-label", SoftToken.inspected, "--login", "--pin", SoftToken.pin]
        let list = try await checkProcess(login + ["--list-objects", "--type", "privkey"])
        let access = list.split(separator: "\n").filter { $0.contains("Access:") }
        #expect(access.count == 2)
        #expect(
            access.allSatisfy { $0.contains("sensitive") && $0.contains("never extractable") && $0.contains("local") },
            "\(list)"
        )
        #expect(list.contains("carrel key device"))
        #expect(!list.contains("unwrap") && !list.contains("decrypt"))
        // nothing is left of key agreement, and nothing is seen without the PIN
        #expect(try await checkProcess(login + ["--list-objects", "--type", "secrkey"]) == "")
        let without = [tool, "--module", token.module, "--token-label", SoftToken.inspected, "--list-objects"]
        #expect(try await !checkProcess(without).contains("carrel"))
    }

    @Test func `opens the token again when its sessions are lost`() async throws {
        // On a token of its own: the loss is one of the whole process.
        let module = try await SoftToken.shared().module
        let token = PKCS11Token.label(SoftToken.unsteady)
        let vault = try await Vault.pkcs11(module: module, token: token, pin: SoftToken.pin)
        let key = try await vault.makeKey(named: "stays", for: .sign)
        for _ in 0..<3 {
            try PKCS11Module.load(module).closeAllSessions(token)
            #expect(key.verifies(try await vault.sign([1], withKey: "stays"), [1]))
        }
    }

    @Test func `makes a key again of which only a half is left`() async throws {
        let token = try await SoftToken.shared()
        let tool = try requirePeer("pkcs11-tool")
        let place = try await VaultPlace(.pkcs11)
        let name = place.name("device")
        let vault = try await place.create()
        let key = try await vault.makeKey(named: name)
        let login = [tool, "--module", token.module, "--token-label", SoftToken.label, "--login", "--pin", SoftToken.pin]
        let half = ["--delete-object", "--type", "pubkey", "--label", "carrel key \(name)"]
        try await checkProcess(login + half)
        #expect(try await vault.publicKey(named: name) == nil)
        #expect(await code { () throws(VaultError) in try await vault.sign([], withKey: name) } == .absent)
        let other = try await vault.makeKey(named: name)
        #expect(other != key)
        #expect(other.verifies(try await vault.sign([1], withKey: name), [1]))
    }

    @Test func `names a removed sealing key`() async throws {
        let module = try await SoftToken.shared().module
        let vault = try await Vault.pkcs11(module: module, token: .label(SoftToken.other), pin: SoftToken.pin)
        let sealed = try await vault.seal(Secret([1, 2, 3]), associated: [])
        let session = try PKCS11Session(
            PKCS11Module.load(module),
            .label(SoftToken.other),
            pin: Secret(Array(SoftToken.pin.utf8))
        )
        try session.removeKey(labeled: "carrel seal")
        #expect(await code { () throws(VaultError) in try await vault.open(sealed, associated: []) } == .absent)
        let again = try await vault.seal(Secret([1, 2, 3]), associated: [])
        #expect(await code { () throws(VaultError) in try await vault.open(sealed, associated: []) } == .absent)
        #expect(try await vault.open(again, associated: []) == Secret([1, 2, 3]))
    }

    @Test func `does not open bytes that were sealed by others to its public key`() async throws {
        let module = try await SoftToken.shared().module
        let vault = try await Vault.pkcs11(module: module, token: .label(SoftToken.label), pin: SoftToken.pin)
        let sealed = try await vault.seal(Secret([1, 2, 3]), associated: [])
        // the same first key for other bytes: a forger has to know the token's own secret too
        let fresh = P256.PrivateKey()
        let forged = Array(sealed[..<9]) + fresh.publicKey.coordinates + Array(sealed[73...])
        #expect(await code { () throws(VaultError) in try await vault.open(forged, associated: []) } == .damaged)
    }

    private static let values: [(UInt, VaultError.Code)] = [
        (0xa0, .pin), (0xa4, .locked), (0xa3, .locked), (0xe0, .absent), (0x32, .absent), (0x31, .full), (0x50, .refused),
        (0x70, .unavailable), (0x30, .unavailable), (0x5, .unavailable),
    ]

    @Test(arguments: values)
    func `translates what modules return`(value: UInt, code: VaultError.Code) {
        #expect(PKCS11Failure.call(value, "C_Sign").vaultError.code == code)
    }
}

extension Substring {
    fileprivate func trimmingSuffix() -> String {
        var text = self
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
