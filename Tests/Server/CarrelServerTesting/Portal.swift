// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

import CarrelHTTP
import CarrelJSON
import CarrelRights
package import CarrelServer
package import CarrelTokens
import Testing

/// A service that knows the communication key of a portal.
package struct Portal {
    package let test: TestService
    package let key: LicenseMessage.CommunicationKey

    package static let contents = [
        LicenseMessage.ContentKey(id: KeyID(label: "sd"), key: Secret(Array(0..<16)), policy: "SD"),
        LicenseMessage.ContentKey(id: KeyID(label: "hd"), key: Secret(Array(16..<32)), policy: "HD"),
    ]

    package init(
        with capabilities: TestService.Capabilities = [.licensing, .administration],
        _ configure: (inout CarrelService.Settings) -> Void = { _ in }
    ) async throws {
        test = try await TestService(.silence, with: capabilities, configure)
        let id = try #require(KeyID(uuid: "11111111-2222-3333-4444-555555555555"))
        key = try LicenseMessage.CommunicationKey(id: id, secret: Secret(Array(0..<32)))
        let answer = try await add("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        #expect(answer == 204)
    }

    package func add(_ text: String, as id: String = "11111111-2222-3333-4444-555555555555") async throws -> Int {
        let path = "/admin/v1/communication-keys/\(id)"
        return try await test.send(.put, path, body: ["key": .string(text)], peer: .local(userID: 0)).status
    }

    /// A message with two keys.
    package func message(
        id: String? = nil,
        keys: LicenseMessage.KeySource = .inline(contents.map { .init(id: $0.id, key: $0.key) }),
        _ change: (inout LicenseMessage.Entitlement) -> Void = { _ in }
    ) throws -> String {
        var entitlement = LicenseMessage.Entitlement(keys: keys)
        entitlement.allowsPersistence = true
        change(&entitlement)
        return try LicenseMessage(communicationKeyID: key.id, id: id, entitlement: entitlement).write(under: key)
    }
}

extension Portal {
    /// A message of version 2 with a member of the entitlement verbatim.
    package func signed(_ name: String, _ value: String, keys: LicenseMessage.KeySource? = nil) throws -> String {
        let usual = LicenseMessage.KeySource.inline(Self.contents.map { .init(id: $0.id, key: $0.key) })
        let text = try message(id: Random.uuid(), keys: keys ?? usual) {
            if keys != nil { $0.policies = [LicenseMessage.UsagePolicy(name: "SD"), LicenseMessage.UsagePolicy(name: "HD")] }
        }
        let parts = text.split(separator: ".")
        let payload = try #require(Base64URL.decode(parts[1]))
        var json = try #require(try JSON.parse(payload.rawSpan).object)
        var entitlement = try #require(json["message"]?.object)
        let written = Array(value.utf8)
        entitlement[name] = try JSON.parse(written.rawSpan)
        json["message"] = .object(entitlement)
        let input = Array("\(parts[0]).\(Base64URL.encode(JSON.object(json).write()))".utf8)
        let mac = HMACSHA256(key: Secret(Array(0..<32))).authenticate(input.rawSpan)
        return String(decoding: input, as: UTF8.self) + "." + Base64URL.encode(Array(mac))
    }
}
