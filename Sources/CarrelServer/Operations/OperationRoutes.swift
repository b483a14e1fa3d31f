import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
package import CarrelStore

/// What operators and their monitoring ask: is it alive, can it serve, how is it doing.
package struct OperationRoutes {
    let database: any Database
    let metrics: MetricsRegistry
    let isDraining: @Sendable () -> Bool
    let callers: Callers

    package static let statements = [probe]
    static let probe = SQL("SELECT count(*) FROM schema_version")

    func add(to router: inout Router) {
        router.on(.get, "healthz") { _, _ in .json(["status": "ok"]) }
        router.on(.get, "readyz") { _, _ in
            if isDraining() {
                throw HTTPError(.serviceUnavailable, "server.draining", "the server is shutting down")
            }
            do {
                _ = try await database.read { try $0.row(Self.probe, []) }
            } catch {
                throw HTTPError(.serviceUnavailable, "server.database", "the database does not answer")
            }
            return .json(["status": "ready"])
        }
        router.on(.get, "metrics") { request, _ in
            if !callers.isFromThisMachine(request) { try await callers.require(request, .readHealth) }
            var response = HTTPResponse.text(metrics.text())
            response.headers["Content-Type"] = MetricsRegistry.contentType
            response.headers["Cache-Control"] = "no-store"
            return response
        }
    }
}
