// SPDX-License-Identifier: Apache-2.0

/// One step of the schema, applied once, in one transaction, and never changed after a release.
package struct Migration: Sendable {
    /// Steps count 1, 2, 3, … without a gap.
    package let version: Int
    /// A few words for people, such as "orders and their keys".
    package let name: String
    /// Run in order, in the subset both engines share.
    package let statements: [SQL]
    /// Statements that run after ``statements`` on one engine: for tables and indexes that the engines do not share.
    private let own: [DatabaseEngine: [SQL]]

    /// - Parameters:
    ///   - version: the previous migration's version plus one; the first is 1.
    ///   - name: a few words for people.
    ///   - statements: run in order, in one transaction.
    ///   - sqlite: run after `statements` on SQLite.
    ///   - postgresql: run after `statements` on PostgreSQL.
    package init(version: Int, name: String, statements: [SQL], sqlite: [SQL] = [], postgresql: [SQL] = []) {
        self.version = version
        self.name = name
        self.statements = statements
        own = [.sqlite: sqlite, .postgresql: postgresql]
    }

    /// Everything that is run on an engine, in order.
    package func statements(for engine: DatabaseEngine) -> [SQL] {
        statements + (own[engine] ?? [])
    }

    /// 64-bit FNV-1a over the engine's statements in hexadecimal: shows that an applied migration was edited afterwards.
    package func checksum(for engine: DatabaseEngine) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for statement in statements(for: engine) {
            for byte in statement.text(for: engine).utf8 { add(byte) }
            add(0)
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
