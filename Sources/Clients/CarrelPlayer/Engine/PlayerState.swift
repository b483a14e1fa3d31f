// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelRights

/// The state file of a player, stored next to the vault. It contains no secret.
struct PlayerState: Sendable {
    /// The base URL of the server.
    var server: String
    /// The kind of vault that has the keys; no other kind is ever used instead.
    var vault: String
    /// The salt of the fingerprint, and the fingerprint that was sent to the server.
    let salt: [UInt8]
    let fingerprint: [UInt8]
    /// The nonce of a request in a file, until its response arrives.
    var openRequest: String?
    /// Whether the license store was created: if it is missing, it is not created again.
    var hasStore = false
    /// The server's last response; nil before the first.
    var answer: PersonalizationResponse?
    /// The entity tag of a list of revocations, and the SHA-256 of that list.
    var listTag: ListTag?

    /// The entity tag under which the server sent a list of revocations.
    struct ListTag: Sendable, Equatable {
        let tag: String
        let digest: [UInt8]

        init(_ tag: String, of list: String) {
            self.tag = tag
            digest = Self.digest(of: list)
        }

        init?(_ json: JSON?) {
            guard let tag = json?["tag"]?.string, let digest = json?.bytes("digest") else { return nil }
            (self.tag, self.digest) = (tag, digest)
        }

        var json: JSON { ["tag": .string(tag), "digest": .string(Base64URL.encode(digest))] }

        /// Whether it is the tag of a list.
        func isTag(of list: String) -> Bool { digest == Self.digest(of: list) }

        private static func digest(of list: String) -> [UInt8] { SHA256.hash(Array(list.utf8).rawSpan) }
    }

    private static let version = 1

    init(server: String, vault: String, salt: [UInt8], fingerprint: [UInt8]) {
        self.server = server
        self.vault = vault
        self.salt = salt
        self.fingerprint = fingerprint
    }

    init(reading bytes: [UInt8]) throws(PlayerError) {
        let damaged = PlayerError(.store, "the file with the player's certificate cannot be read")
        guard let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 8, byteCount: 16 << 20)),
            json["version"]?.int == Self.version,
            let server = json["server"]?.string, let vault = json["vault"]?.string, let salt = json.bytes("salt"),
            let fingerprint = json.bytes("fingerprint"), salt.count == DeviceFingerprint.saltByteCount, fingerprint.count == 32
        else { throw damaged }
        self.init(server: server, vault: vault, salt: salt, fingerprint: fingerprint)
        openRequest = json["openRequest"]?.string
        hasStore = json["store"]?.bool ?? false
        listTag = ListTag(json["listTag"])
        guard let answer = json["answer"] else { return }
        do throws(RightsError) {
            self.answer = try PersonalizationResponse(answer)
        } catch {
            throw damaged
        }
    }

    var bytes: [UInt8] {
        var object: JSONObject = [
            "version": .integer(Self.version), "server": .string(server), "vault": .string(vault),
            "salt": .string(Base64URL.encode(salt)), "fingerprint": .string(Base64URL.encode(fingerprint)),
        ]
        object["openRequest"] = openRequest.map { .string($0) }
        if hasStore { object["store"] = true }
        object["answer"] = answer?.json
        object["listTag"] = listTag?.json
        return JSON.object(object).writePretty()
    }
}
