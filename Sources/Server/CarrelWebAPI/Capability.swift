// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHTTP
package import CarrelHome
package import CarrelMetrics
package import CarrelJSON
package import CarrelStore

/// A capability of the server with all its parts. The service is a list of them: leaving a capability out removes its
/// routes, jobs, metrics and personal data. Its tables stay.
package protocol Capability: Sendable {
    /// The tables that this capability alone writes, and what each holds about people.
    static var tables: [String: PersonalData.Treatment] { get }
    /// All SQL of the capability.
    static var statements: [SQL] { get }

    /// Tables that a restore carries over from the replaced database, in the order of their references.
    static var carriedTables: [CarriedTable] { get }

    func addRoutes(to router: inout Router)
    func addMetrics(to registry: MetricsRegistry)
    /// Background work.
    var jobs: [BackgroundJob] { get }
    /// Removal of rows past their time.
    var cleanups: [Cleanup] { get }
    /// Lists of the export, from the tables.
    var personalData: [PersonalData.Member] { get }
    /// Keys that are kept wrapped under the master key.
    var wrappedKeys: [WrappedKeys] { get }
    /// Members of `/admin/v1/health`; objects with the same name are merged.
    func health(at now: Instant, within limit: Duration) async -> JSONObject
    /// Conditions that an operator must attend to soon, as sentences for `/readyz`, `/admin/v1/health` and `carrel status`.
    func warnings(at now: Instant, within limit: Duration) async -> [String]
}

extension Capability {
    package static var tables: [String: PersonalData.Treatment] { [:] }
    package static var statements: [SQL] { [] }
    package static var carriedTables: [CarriedTable] { [] }
    package func addRoutes(to router: inout Router) {}
    package func addMetrics(to registry: MetricsRegistry) {}
    package var jobs: [BackgroundJob] { [] }
    package var cleanups: [Cleanup] { [] }
    package var personalData: [PersonalData.Member] { [] }
    package var wrappedKeys: [WrappedKeys] { [] }
    package func health(at now: Instant, within limit: Duration) async -> JSONObject { [:] }
    package func warnings(at now: Instant, within limit: Duration) async -> [String] { [] }
}

/// Work that a server repeats in the background.
package struct BackgroundJob: Sendable {
    /// The time between two turns.
    package let interval: Duration
    /// The consequence of a failure, as the start of a message.
    package let trouble: String
    package let work: @Sendable () async throws -> Void
    /// Work for when the server stops, after the last request.
    package let end: (@Sendable () async throws -> Void)?

    package init(
        every interval: Duration,
        trouble: String,
        work: @escaping @Sendable () async throws -> Void,
        end: (@Sendable () async throws -> Void)? = nil
    ) {
        self.interval = interval
        self.trouble = trouble
        self.work = work
        self.end = end
    }
}

/// Removes rows past their time, a little at a time.
package struct Cleanup: Sendable {
    /// Whether there may be something to remove, checked before a write is requested.
    package let isDue: @Sendable (any Transaction) throws -> Bool
    /// Removes at most `limit` rows and returns how many.
    package let remove: @Sendable (_ now: Instant, _ limit: Int, any Transaction) throws -> Int

    package init(
        isDue: @escaping @Sendable (any Transaction) throws -> Bool = { _ in true },
        remove: @escaping @Sendable (_ now: Instant, _ limit: Int, any Transaction) throws -> Int
    ) {
        self.isDue = isDue
        self.remove = remove
    }
}

/// A column of keys that are wrapped under the master key, for its rotation.
package struct WrappedKeys: Sendable {
    private let selection: SQL
    private let replacement: SQL

    /// - Parameters:
    ///   - selection: selects id, version of the master key and wrapped key of rows under another version than `$1`, `$2` rows at most.
    ///   - replacement: sets the version `$2` and the wrapped key `$3` of the row `$1`.
    package init(notUnder selection: SQL, rewrap replacement: SQL) {
        self.selection = selection
        self.replacement = replacement
    }

    /// A batch of keys that are not under the master key of `version`, with the ids of their rows.
    package func keys(
        notUnder version: Int64,
        limit: Int,
        in transaction: any Transaction
    ) throws -> [(id: String, key: MasterKeyring.Wrapped)] {
        try transaction.rows(selection, [.integer(version), .integer(Int64(limit))]).map {
            (try $0.text(0), .init(masterVersion: try $0.integer(1), bytes: try $0.blob(2)))
        }
    }

    /// Replaces the wrapped key of a row.
    package func rewrap(_ id: String, _ key: MasterKeyring.Wrapped, in transaction: any Transaction) throws {
        try transaction.run(replacement, [.text(id), .integer(key.masterVersion), .blob(key.bytes)])
    }
}
