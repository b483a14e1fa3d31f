// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics

/// The counters of the server.
final class ServerMetrics: Sendable {
    let registry: MetricsRegistry
    /// Connections closed because there were too many.
    let refusedConnections: Counter
    /// Connections cut at a deadline.
    let cutConnections: Counter
    /// Bodies of requests refused for want of memory.
    let refusedBodies: Counter
    /// Bytes of bodies.
    let sentBytes: Counter

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        refusedConnections = registry.counter(
            "carrel_http_connections_refused_total",
            "Connections closed because there were too many."
        )
        cutConnections = registry.counter("carrel_http_connections_cut_total", "Connections cut at a deadline.")
        refusedBodies = registry.counter(
            "carrel_http_bodies_refused_total",
            "Bodies of requests refused because bodies took too much memory."
        )
        sentBytes = registry.counter("carrel_http_response_body_bytes_total", "Bytes of response bodies.")
    }
}
