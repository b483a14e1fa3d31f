// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelWebAPI

/// `/admin/v1/pki/export-root`, `remove-root` and `import-root`: moves the root's private key, on the server's own machine only.
struct RootRoutes: Sendable {
    let authority: Authority
    let expunging: Expunging
    let callers: RequestAuthenticator

    private static let bodyLimit = 65_536
    private static let leastCharacters = 12

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/pki/export-root") { request, _ in
            let (actor, _, passphrase) = try await read(request, ["passphrase"])
            let text = try await authority.exportRoot(passphrase: passphrase, by: actor)
            return .json(["root": .string(text)]).unstored
        }
        router.on(.post, "admin/v1/pki/remove-root") { request, _ in
            let (actor, object, passphrase) = try await read(request, ["passphrase", "root"])
            let text = try object.requiredString("root")
            try await Self.reading { try await authority.removeRoot(export: text, passphrase: passphrase, by: actor) }
            return .json(["expunged": .bool(await expunging.run())])
        }
        router.on(.post, "admin/v1/pki/import-root") { request, _ in
            let (actor, object, passphrase) = try await read(request, ["passphrase", "root"])
            let text = try object.requiredString("root")
            let root = try await Self.reading { try await authority.importRoot(text, passphrase: passphrase, by: actor) }
            return .json(["id": .string(root.id), "changed": .bool(root.isChanged)]).unstored
        }
    }

    private func read(
        _ request: HTTPRequest,
        _ members: Set<String>
    ) async throws -> (AuditActor, JSONObject, Secret) {
        let actor = try await callers.require(request, .rotateKeys)
        guard case .local = request.peer else {
            throw ServerError(.forbidden, "the root is exported and imported on the server's own machine: carrel pki")
        }
        let object = try await JSONBody.object(of: request, limit: Self.bodyLimit)
        try object.allowOnly(members)
        let passphrase = try object.requiredString("passphrase")
        guard passphrase.unicodeScalars.count >= Self.leastCharacters else {
            throw ServerError(.invalid, "the passphrase has at least \(Self.leastCharacters) characters")
        }
        return (actor, object, Secret(Array(passphrase.utf8)))
    }

    private static func reading<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as RightsError { throw ServerError(.invalid, error.message) }
    }
}
