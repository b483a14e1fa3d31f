// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelMetrics
import Synchronization

/// The state that all workers of a server share.
final class ServerCore: Sendable {
    /// The configuration's times, in milliseconds, and sizes.
    struct Limits: Sendable {
        let header: Int64
        let body: Int64
        let bodyRate: Int64
        let keepAlive: Int64
        let exchange: Int64
        let discarded: Int

        init(_ configuration: ServerConfiguration) {
            header = configuration.headerDeadline.milliseconds
            body = configuration.bodyDeadline.milliseconds
            bodyRate = Int64(max(1, configuration.minimumBodyRate))
            keepAlive = configuration.keepAlive.milliseconds
            exchange = configuration.exchangeDeadline.milliseconds
            discarded = ServerConfiguration.discardedBody
        }
    }

    let router: Router
    let limits: Limits
    let hosts: HostPolicy
    let forwarding: Forwarding
    let registry: ConnectionRegistry
    let watch: ConnectionWatch
    let closing: ClosingConnections
    /// `Strict-Transport-Security` (RFC 6797 §6.1); nil sends none.
    let transportSecurity: String?
    let metrics: ServerMetrics
    let isDraining = Atomic(false)
    /// Whether the workers are being stopped, so that no connection may be suspended any more.
    let isStopping = Atomic(false)
    /// Requests between their line and their last byte.
    let inFlight = Atomic(0)
    let connections: ConnectionCounts
    let bodies: BodyBudget
    let gathering: BodyBatch
    private let connectionIDs = Atomic<UInt64>(1)
    let log: (@Sendable (AccessRecord) -> Void)?

    init(
        _ configuration: ServerConfiguration,
        workers: Int,
        router: Router,
        bound: [BoundAddress],
        log: (@Sendable (AccessRecord) -> Void)?,
        metrics: MetricsRegistry
    ) throws(HTTPServerError) {
        self.router = router
        self.log = log
        limits = Limits(configuration)
        hosts = HostPolicy(allowed: configuration.allowedHosts, bound: bound)
        forwarding = Forwarding(trusted: configuration.trustedProxies, certificates: configuration.certificateProxies)
        connections = ConnectionCounts(configuration, forwarding)
        registry = ConnectionRegistry()
        gathering = BodyBatch(isShared: workers > 1)
        watch = try ConnectionWatch(registry)
        closing = try ClosingConnections()
        let remembered = configuration.strictTransport.components.seconds
        transportSecurity = remembered > 0 ? "max-age=\(remembered)" : nil
        self.metrics = ServerMetrics(metrics)
        bodies = BodyBudget(limit: configuration.bodyMemory, refusals: self.metrics.refusedBodies)
    }

    func nextConnectionID() -> UInt64 {
        connectionIDs.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// A handler's header field that would break the header apart.
    func refusedField(_ name: String, _ request: HTTPRequest?) {
        let error = HTTPError(.internalServerError, "http.response-field", "the field \(name) cannot be sent")
        if let request { router.unexpectedError?(error, request) }
    }
}

extension ServerMetrics {
    /// Adds what is read from the server itself.
    func gauges(for core: ServerCore) {
        registry.gauge("carrel_http_connections", "Open connections.") { [weak core] in
            Double(core?.connections.total ?? 0)
        }
        registry.gauge("carrel_http_request_body_bytes", "Bytes of request bodies held in memory.") { [weak core] in
            Double(core?.bodies.byteCount ?? 0)
        }
        registry.gauge("carrel_http_requests_in_flight", "Requests whose response is not sent yet.") { [weak core] in
            Double(core?.inFlight.load(ordering: .relaxed) ?? 0)
        }
    }
}
