// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics

/// Metrics of a relay.
struct RelayMeter: Sendable {
    enum Outcome: String { case answered, failed, shed, refused }

    private let metrics: MetricsRegistry
    private let relay: String
    private let latency: Histogram

    /// - Parameters:
    ///   - metrics: the registry.
    ///   - relay: the name of the relay.
    ///   - isOpen: whether the circuit breaker suspends requests.
    init(_ metrics: MetricsRegistry, relay: String, isOpen: @escaping @Sendable () -> Bool) {
        self.metrics = metrics
        self.relay = relay
        latency = metrics.histogram("carrel_relay_seconds", "Response times of relayed license servers.", [("relay", relay)])
        metrics.gauge(
            "carrel_relay_unavailable",
            "1 while requests to a license server are suspended after failures, else 0.",
            [("relay", relay)]
        ) { isOpen() ? 1 : 0 }
    }

    func count(_ outcome: Outcome) {
        metrics.counter(
            "carrel_relay_requests_total",
            "Requests for relays, by outcome; shed and refused ones were not sent.",
            [("relay", relay), ("outcome", outcome.rawValue)]
        ).add()
    }

    func observe(_ duration: Duration) { latency.observe(duration) }
}
