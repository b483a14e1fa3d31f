// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics

/// Metrics of a source's system.
struct UpstreamMeter: Sendable {
    /// The five calls.
    enum Call: String, CaseIterable {
        case signIn = "sign_in"
        case renew = "renew_token"
        case verify = "verify_subscription"
        case credentials = "edition_credentials"
        case signOut = "sign_out"
    }

    enum Outcome: String, CaseIterable { case answered, failed, shed }

    private let metrics: MetricsRegistry
    private let source: String
    private let latency: Histogram

    /// `isOpen` says whether the circuit breaker keeps questions back.
    init(_ metrics: MetricsRegistry, source: String, isOpen: @escaping @Sendable () -> Bool) {
        self.metrics = metrics
        self.source = source
        latency = metrics.histogram(
            "carrel_upstream_seconds",
            "Response times of upstream systems.",
            [("source", source)]
        )
        metrics.gauge(
            "carrel_upstream_unavailable",
            "1 while calls to an upstream system are suspended after failures, else 0.",
            [("source", source)]
        ) { isOpen() ? 1 : 0 }
    }

    func count(_ call: Call, _ outcome: Outcome) {
        metrics.counter(
            "carrel_upstream_calls_total",
            "Calls to upstream systems, by result; shed ones were not sent.",
            [("source", source), ("call", call.rawValue), ("outcome", outcome.rawValue)]
        ).add()
    }

    func observe(_ duration: Duration) { latency.observe(duration) }

    /// Counts an answer that was given without asking.
    func countStandIn(_ policy: String, _ call: Call) {
        metrics.counter(
            "carrel_upstream_standins_total",
            "Responses under the fail policy while an upstream system was unreachable.",
            [("source", source), ("call", call.rawValue), ("policy", policy)]
        ).add()
    }
}
