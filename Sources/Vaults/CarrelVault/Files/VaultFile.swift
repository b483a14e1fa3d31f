// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelJSON

/// The content of `vault.json`: how the master key is protected, and the keys.
///
/// Its encoding is canonical: any other bytes are damage. A digest distinguishes an altered file from a wrong passphrase; the
/// authentication code under the master key detects removed or exchanged entries.
package struct VaultFile: Sendable {
    /// A key.
    package struct Key: Sendable {
        package let name: String
        package let uses: VaultKeyUses
        package let publicKey: P256.PublicKey
        /// The private half, as the back end keeps it.
        package let sealed: [UInt8]

        package init(name: String, uses: VaultKeyUses, publicKey: P256.PublicKey, sealed: [UInt8]) {
            (self.name, self.uses, self.publicKey, self.sealed) = (name, uses, publicKey, sealed)
        }
    }

    package let kind: VaultKind
    /// 16 random bytes that name the vault.
    package let id: [UInt8]
    /// The back end's way to the master key.
    package var master: JSONObject
    package var keys: [Key] = []
    private var code: [UInt8] = []

    /// Bytes of a file at most.
    package static let byteLimit = 1 << 20
    private static let version: JSON = 1
    private static let format: JSON = "carrel vault"

    /// A vault without keys, and with a new id.
    package init(_ kind: VaultKind, id: [UInt8] = Random.bytes(16), master: JSONObject) {
        self.kind = kind
        self.id = id
        self.master = master
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - kind: the vault's.
    /// - Throws: `vault.damaged`; `vault.absent` for another kind.
    package init(_ bytes: [UInt8], kind: VaultKind) throws(VaultError) {
        let limits = JSONLimits(depth: 8, byteCount: Self.byteLimit, values: 20_000)
        guard let file = try? JSON.parse(bytes.rawSpan, limits: limits).object, file["format"] == Self.format else {
            throw Self.damaged("it is not a vault")
        }
        guard file["version"] == Self.version else {
            throw VaultError(
                .damaged,
                "the vault was written by another version of Carrel",
                recommendation: "update Carrel"
            )
        }
        guard let text = file["kind"]?.string, let fileKind = VaultKind(rawValue: text) else {
            throw Self.damaged("it has no kind")
        }
        guard fileKind == kind else {
            throw VaultError(.absent, "the folder has a vault of the kind '\(fileKind.rawValue)', not '\(kind.rawValue)'")
        }
        guard let id = file["id"]?.string.flatMap({ Hex.decode($0) }), id.count == 16, let master = file["master"]?.object,
            let keys = file["keys"]?.array, let code = file["code"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw Self.damaged("a part is missing") }
        self.init(kind, id: id, master: master)
        for key in keys {
            guard let key = Key(key), self.key(named: key.name) == nil else { throw Self.damaged("a key cannot be read") }
            self.keys.append(key)
        }
        self.code = code
        guard self.text(digest: true) == bytes else { throw Self.damaged("its digest is wrong") }
    }

    /// The key of a name.
    package func key(named name: String) -> Key? { keys.first { $0.name == name } }

    /// The text of the file.
    ///
    /// - Parameter key: authenticates it.
    /// - Returns: JSON, with the authentication code and the digest.
    package func bytes(authenticatedBy key: HMACSHA256) -> [UInt8] {
        var file = self
        file.code = key.authenticate(file.authenticated.rawSpan)
        return file.text(digest: true)
    }

    /// Checks that the file was written with a key.
    ///
    /// - Throws: `vault.damaged`.
    package func check(with key: HMACSHA256) throws(VaultError) {
        guard key.isValid(code.rawSpan, for: authenticated.rawSpan) else {
            throw Self.damaged("an entry was altered or exchanged")
        }
    }

    private static func damaged(_ reason: String) -> VaultError { VaultError(.damaged, "the vault's file is damaged: \(reason)") }

    private var authenticated: [UInt8] { JSON.object(object).writeCanonical() }

    private var object: JSONObject {
        [
            "format": Self.format, "version": Self.version, "kind": .string(kind.rawValue), "id": .string(Hex.encode(id)),
            "master": .object(master), "keys": .array(keys.map(\.json)),
        ]
    }

    private func text(digest: Bool) -> [UInt8] {
        var object = object
        object["code"] = .string(Base64URL.encode(code))
        if digest { object["digest"] = .string(Base64URL.encode(SHA256.hash(text(digest: false).rawSpan))) }
        return JSON.object(object).writePretty() + [UInt8(ascii: "\n")]
    }
}

extension VaultFile.Key {
    fileprivate var json: JSON {
        [
            "name": .string(name), "uses": .array(uses.words.map { .string($0) }),
            "public": .string(Base64URL.encode(publicKey.coordinates)), "private": .string(Base64URL.encode(sealed)),
        ]
    }

    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.string, Vault.isName(name),
            let uses = json["uses"]?.array.flatMap({ VaultKeyUses(words: $0.compactMap(\.string)) }),
            let point = json["public"]?.string.flatMap({ Base64URL.decode($0) }), point.count == 2 * P256.byteCount,
            let publicKey = try? P256.PublicKey(x: Array(point.prefix(P256.byteCount)), y: Array(point.suffix(P256.byteCount))),
            let sealed = json["private"]?.string.flatMap({ Base64URL.decode($0) })
        else { return nil }
        self.init(name: name, uses: uses, publicKey: publicKey, sealed: sealed)
    }
}
