// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelMetrics
import CarrelJSON
import CarrelStore
import CarrelWebAPI

/// Liveness, readiness, health and activity for operators and monitoring.
struct OperationRoutes {
    let database: any Database
    let metrics: MetricsRegistry
    /// The capabilities that may warn.
    let parts: [any Capability]
    let clock: any WallClock
    let isDraining: @Sendable () -> Bool
    let callers: RequestAuthenticator

    func add(to router: inout Router) {
        let health = DatabaseHealth(database: database)
        router.on(.get, "healthz") { _, _ in
            // The process is alive whatever the database does: a restart would not help.
            let state = await health.look(within: DatabaseHealth.briefLimit)
            return .json(state == .away ? ["status": "ok", "away": ["database"]] : ["status": "ok"])
        }
        router.on(.get, "readyz") { request, _ in
            if isDraining() {
                throw HTTPError(.serviceUnavailable, "server.draining", "the server is shutting down")
            }
            let state = await health.look()
            let isEnough = request.query["for"] == "reading" ? state.canRead : state == .available
            guard isEnough else { throw DatabaseHealth.problem(state) }
            guard callers.isFromThisMachine(request) else { return .json(["status": "ready"]) }
            let warnings = await parts.warnings(at: clock.now, within: DatabaseHealth.briefLimit)
            return .json(
                warnings.isEmpty ? ["status": "ready"] : ["status": "ready", "warnings": .array(warnings.map { .string($0) })]
            )
        }
        router.on(.get, "metrics") { request, _ in
            if !callers.isFromThisMachine(request) {
                try await health.bounded { try await callers.require(request, .readHealth) }
            }
            var response = HTTPResponse.text(metrics.text())
            response.headers["Content-Type"] = MetricsRegistry.contentType
            response.headers["Cache-Control"] = "no-store"
            return response
        }
    }
}
