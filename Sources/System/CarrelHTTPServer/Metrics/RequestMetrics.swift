// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics

/// A worker's cache of request counters, so that it looks up each only once.
final class RequestMetrics {
    private struct Key: Hashable {
        let route: String
        let method: String
        let status: Int
    }

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]

    private let metrics: ServerMetrics
    private var series: [Key: (count: Counter, time: Histogram)] = [:]
    /// The last used counters, which are often the next.
    private var last: (key: Key, count: Counter, time: Histogram)?

    init(_ metrics: ServerMetrics) {
        self.metrics = metrics
    }

    func record(route: String?, method: String, status: Int, _ nanoseconds: Int64, _ bytes: Int) {
        let (count, time) = find(route ?? "-", method, status)
        count.add(1)
        time.observe(nanoseconds: nanoseconds)
        metrics.sentBytes.add(UInt64(max(0, bytes)))
    }

    private func find(_ route: String, _ method: String, _ status: Int) -> (Counter, Histogram) {
        if let last, last.key.status == status, last.key.method == method, last.key.route == route {
            return (last.count, last.time)
        }
        let key = Key(route: route, method: Self.methods.contains(method) ? method : "-", status: status)
        let entry =
            series[key]
            ?? (
                metrics.registry.counter(
                    "carrel_http_requests_total",
                    "Requests by route, method and status.",
                    [("route", key.route), ("method", key.method), ("status", String(key.status))]
                ),
                metrics.registry.histogram(
                    "carrel_http_request_duration_seconds",
                    "From the request's line to the last byte handed to the kernel, by route.",
                    [("route", key.route)]
                )
            )
        series[key] = entry
        last = (key, entry.0, entry.1)
        return entry
    }
}
