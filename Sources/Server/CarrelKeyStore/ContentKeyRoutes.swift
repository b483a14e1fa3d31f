// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelWebAPI

/// `/admin/v1/content-keys`: the key store. A key goes in and never comes out.
struct ContentKeyRoutes: Sendable {
    let keys: ContentKeys
    let callers: RequestAuthenticator

    /// Bytes of a content id, at most.
    private static let contentLimit = 255

    func add(to router: inout Router) {
        router.on(.get, "admin/v1/content-keys") { request, _ in
            try await callers.require(request, .manageKeys)
            let limit = try request.query.integer("limit", in: 1...1000) ?? 100
            let after = try request.query["after"].map { try Self.keyID($0) }
            let found = try await keys.list(after: after, limit: limit)
            let list = found.map { key in
                JSON.object([
                    "kid": .string(key.id.hex), "createdAt": .string(key.addedAt.description),
                    "owner": key.owner.map { .string($0) } ?? .null,
                    "content": key.content.map { .string($0) } ?? .null, "clearKey": .bool(key.allowsClearKey),
                ])
            }
            var answer: JSONObject = ["keys": .array(list)]
            if found.count == limit, let last = found.last { answer["next"] = .string(last.id.hex) }
            return .json(.object(answer)).unstored
        }
        router.on(.put, "admin/v1/content-keys/{kid}") { request, parameters in
            let actor = try await callers.require(request, .issueTokens)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["key", "owner", "content"])
            let id = try Self.keyID(parameters["kid"])
            let owner = try await owner(object.string("owner"), request)
            let content = try object.string("content")
            if let content {
                // packagers get such a key
                try await callers.require(request, .manageKeys)
                guard 1...Self.contentLimit ~= content.utf8.count else {
                    throw ServerError(.invalid, "content must have 1 to \(Self.contentLimit) bytes")
                }
            }
            guard let key = Hex.decode(try object.requiredString("key")), key.count == KeyID.byteCount else {
                throw ServerError(.invalid, "key must have 32 hexadecimal digits")
            }
            try await keys.add(id, Secret(key), owner: owner, content: content, by: actor)
            return .empty(.noContent)
        }
        router.on(.patch, "admin/v1/content-keys/{kid}") { request, parameters in
            let actor = try await callers.require(request, .manageKeys)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["clearKey"])
            guard let isAllowed = try object.flag("clearKey") else { throw ServerError(.invalid, "clearKey is missing") }
            try await keys.setClearKey(isAllowed, for: try Self.keyID(parameters["kid"]), by: actor)
            return .empty(.noContent)
        }
        // a portal that may add keys must not delete another portal's
        router.on(.delete, "admin/v1/content-keys/{kid}") { request, parameters in
            let actor = try await callers.require(request, .manageKeys)
            let isForced = request.query["force"]
            guard isForced == nil || isForced == "true" else { throw ServerError(.invalid, "force is true, or left out") }
            let isRevoked = request.query["revoke"]
            guard isRevoked == nil || isRevoked == "true" else { throw ServerError(.invalid, "revoke is true, or left out") }
            let id = try Self.keyID(parameters["kid"])
            try await keys.remove(id, isForced: isForced != nil, isRevoked: isRevoked != nil, by: actor)
            return .empty(.noContent)
        }
    }

    /// The owner of a key that is added: a portal's own, and for other callers the named owner.
    private func owner(_ named: String?, _ request: HTTPRequest) async throws -> String? {
        guard let portal = try await callers.backOfficeKey(request), !portal.role.may(.manageKeys) else { return named }
        guard named == nil || named == portal.id else {
            throw ServerError(.forbidden, "a portal adds keys for itself alone: leave owner out")
        }
        return portal.id
    }

    private static func keyID(_ text: String) throws -> KeyID {
        guard let id = KeyID(hex: text) ?? KeyID(uuid: text) else {
            throw ServerError(.invalid, "a key id has 32 hexadecimal digits, or is a UUID")
        }
        return id
    }
}
