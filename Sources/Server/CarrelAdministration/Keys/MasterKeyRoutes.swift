// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// `/admin/v1/master-key`: the key that all others are wrapped under, and the nodes that hold it.
struct MasterKeyRoutes {
    let database: any Database
    let master: MasterKeyring.Shared
    let nodes: Nodes
    let rotation: KeyRotation
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/master-key/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let outcome = try await rotation.run(by: actor, node: nodes.id) { master.use($0) }
            return .json([
                "version": .integer(outcome.version), "rewrapped": .integer(outcome.rewrapped),
            ])
        }
        router.on(.post, "admin/v1/master-key/add") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let object = try await JSONBody.object(of: request, limit: 65_536)
            try object.allowOnly(["keys", "file"])
            var versions: [Int64] = []
            if let text = try object.string("keys") {
                // Keys travel over the home's own socket and nowhere else.
                guard case .local = request.peer else {
                    throw ServerError(
                        .forbidden,
                        "to add keys from a file, run 'carrel keys add --from FILE' on the server's own machine"
                    )
                }
                versions = try await rotation.take(
                    from: try MasterKeyring(text: text, path: try object.string("file") ?? "the copy")
                )
            } else {
                versions = [try await rotation.add(by: actor)]
            }
            try await nodes.beatAgain()
            return .json(["added": .array(versions.map { .integer($0) })])
        }
        router.on(.get, "admin/v1/master-key") { request, _ in
            try await callers.require(request, .rotateKeys)
            let keys = try await database.read { try MasterKeyStore.known(in: $0) }
            return .json([
                "version": .integer(keys.current ?? master.current.current), "added": keys.added.map { .integer($0) } ?? .null,
                "nodes": .array(try await nodes.recent().map(Self.json)),
            ])
        }
    }

    private static func json(_ node: Node) -> JSON {
        [
            "name": .string(node.name), "seenAt": .string(node.seenAt.description),
            "masterVersions": .array(node.masterVersions.map { .integer($0) }),
        ]
    }
}
