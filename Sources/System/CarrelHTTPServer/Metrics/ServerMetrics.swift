// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics

/// The counters of the server.
final class ServerMetrics: Sendable {
    let registry: MetricsRegistry
    /// Connections closed because there were too many.
    let refused: Counter
    /// Connections cut at a deadline.
    let cut: Counter
    /// Bodies of requests refused for want of memory.
    let refusedBodies: Counter
    /// Bytes of bodies.
    let sent: Counter

    init(_ registry: MetricsRegistry) {
        self.registry = registry
        refused = registry.counter("carrel_http_connections_refused_total", "Connections closed because there were too many.")
        cut = registry.counter("carrel_http_connections_cut_total", "Connections cut at a deadline.")
        refusedBodies = registry.counter(
            "carrel_http_bodies_refused_total",
            "Bodies of requests refused because bodies took too much memory."
        )
        sent = registry.counter("carrel_http_response_body_bytes_total", "Bytes of response bodies.")
    }
}
