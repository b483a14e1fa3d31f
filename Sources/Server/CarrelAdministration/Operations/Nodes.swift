// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelStore
import CarrelThreads
import Glibc

/// The nodes that run on one database: each says every 20 seconds that it is there, and which master keys it holds.
package struct Nodes: Sendable {
    let home: Home
    let database: any Database
    let clock: any WallClock
    let master: MasterKeyring.Shared
    /// This node.
    let id: String
    private let hasBeaten = Locked(false)

    package static let interval = Duration.seconds(20)

    init(home: Home, database: any Database, clock: any WallClock, master: MasterKeyring.Shared) {
        self.home = home
        self.database = database
        self.clock = clock
        self.master = master
        id = Hex.encode(Random.bytes(16))
    }

    /// Records that this node runs, and loads changes of its keys: an added key, or one that came into use.
    ///
    /// - Throws: ``ServerError`` `masterKey` if the home lacks a key or has another one; the known keys stay in use.
    package func beat() async throws {
        hasBeaten.withLock { $0 = true }
        let keyring = try MasterKeyring(of: home)
        let (now, id, name) = (clock.now, id, "\(Self.machine):\(home.directory)")
        let keys = try await database.write { transaction in
            let keys = try MasterKeyStore.known(in: transaction)
            let node = Node(id: id, name: name, seenAt: now, masterVersions: keys.held(by: keyring))
            try NodeStore.seen(node, in: transaction)
            return keys
        }
        try keys.require(keyring)
        master.use(keyring.wrapping(under: keys.current))
    }

    /// Repeats the heartbeat on a running node; does nothing in a command.
    func beatAgain() async throws {
        if hasBeaten.withLock({ $0 }) { try await beat() }
    }

    /// Removes this node from the list of running nodes.
    package func leave() async throws {
        let id = id
        try await database.write { try NodeStore.remove(id, in: $0) }
    }

    /// The nodes seen lately.
    func recent() async throws -> [Node] {
        let now = clock.now
        return try await database.read { try NodeStore.recent(at: now, in: $0) }
    }

    private static var machine: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
