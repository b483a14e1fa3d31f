// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelStore

/// The newest trust that the store has seen: the player's file, which is not encrypted, must not change to another root or be
/// rolled back.
struct TrustAnchor: Sendable, Equatable {
    /// The root's certificate in DER.
    var root: [UInt8]
    /// The numbers of the service's keys and of the list of revocations.
    var keys: Int
    var revocations: Int

    fileprivate static let place = "store anchor"

    fileprivate var json: JSON {
        ["root": .string(Base64.encode(root)), "keys": .integer(keys), "revocations": .integer(revocations)]
    }

    init(root: [UInt8], keys: Int, revocations: Int) {
        (self.root, self.keys, self.revocations) = (root, keys, revocations)
    }

    fileprivate init(_ json: JSON) throws(PlayerError) {
        guard let root = json["root"]?.string.flatMap({ Base64.decode($0) }), let keys = json["keys"]?.int,
            let revocations = json["revocations"]?.int
        else { throw RowSeal.damaged }
        self.init(root: root, keys: keys, revocations: revocations)
    }
}

extension LicenseStore {
    /// The newest trust; nil before the first.
    func anchor() async throws(PlayerError) -> TrustAnchor? {
        let seal = seal
        return try await read { transaction in
            if let anchor = try Self.anchor(transaction, seal) { return anchor }
            guard try transaction.row(Statement.isUsed)?.integer(0) == 0 else { throw RowSeal.damaged }
            return nil
        }
    }

    private static func anchor(_ transaction: any Transaction, _ seal: RowSeal) throws -> TrustAnchor? {
        try transaction.row(Statement.value, ["anchor"]).map {
            try TrustAnchor(try seal.open(try $0.blob(0), at: TrustAnchor.place))
        }
    }

    func setAnchor(_ anchor: TrustAnchor) async throws(PlayerError) {
        let seal = seal
        try await write { transaction in
            var anchor = anchor
            // a slower call must not restore an older one
            if let known = try Self.anchor(transaction, seal), known.root == anchor.root {
                anchor.keys = max(anchor.keys, known.keys)
                anchor.revocations = max(anchor.revocations, known.revocations)
            }
            let sealed = try seal.seal(anchor.json, at: TrustAnchor.place)
            try transaction.run(Statement.addValue, ["anchor", .blob(sealed)])
            try transaction.run(Statement.setValue, ["anchor", .blob(sealed)])
        }
    }
}
