// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelThreads
import CarrelWebAPI

/// Health of the database; checks respond within 2 seconds in any case.
struct DatabaseHealth: Sendable {
    let database: any Database

    /// The longest that a health check waits for the database.
    static let limit = Duration.milliseconds(1500)
    /// The longest that the check of liveness waits: a server whose database is away lives.
    static let briefLimit = Duration.milliseconds(500)

    /// The state of the database.
    enum State: String, Sendable {
        case available
        /// Reads succeed, writes fail.
        case readOnly = "read-only"
        /// Reads succeed, writes fail until there is space.
        case full
        case away

        var canRead: Bool { self != .away }

        /// The problem that `/readyz` answers, in words.
        var detail: String {
            switch self {
            case .readOnly: "the database is read-only"
            case .full: "the disk of the database is full"
            case .available, .away: "the database does not respond"
            }
        }

        /// The problem code in the response of `/readyz`.
        var code: String {
            switch self {
            case .available, .away: "server.database"
            case .readOnly: "server.database.read-only"
            case .full: "server.database.full"
            }
        }
    }

    /// Checks the database for at most `limit`; a slower one counts as unreachable.
    func look(within limit: Duration = Self.limit) async -> State {
        do {
            let isAnswered: Void? = try await within(limit) { try await database.probe() }
            return isAnswered == nil ? .away : .available
        } catch let error as StoreError where error.code == .readOnly {
            return .readOnly
        } catch let error as StoreError where error.code == .full {
            return .full
        } catch {
            return .away
        }
    }

    /// Runs another database query of a health check, such as the caller's permission, with a time limit.
    ///
    /// - Throws: 503 `server.database` if it takes too long; what `work` throws.
    @discardableResult
    func bounded<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) async throws -> Result {
        guard let result = try await within(Self.limit, work) else { throw Self.away }
        return result
    }

    /// The problem of a database that does not answer.
    static let away = problem(.away)

    static func problem(_ state: State) -> RuleError {
        RuleError(.unavailable, state.code, state.detail, retryAfter: 10)
    }
}
