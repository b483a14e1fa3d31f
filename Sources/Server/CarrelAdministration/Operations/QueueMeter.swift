// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics
import CarrelThreads

/// Metrics of the queues of blocking work: a queue that refuses is too slow.
enum QueueMeter {
    static func add(to metrics: MetricsRegistry) {
        metrics.gauges("carrel_queue_waiting", "Tasks waiting for a thread, by queue.", by: "queue") {
            BlockingThreadPool.counts().map { ($0.name, Double($0.waiting)) }
        }
        metrics.counters("carrel_queue_refused_total", "Tasks refused because the queue was full, by queue.", by: "queue") {
            BlockingThreadPool.counts().map { ($0.name, Double($0.refused)) }
        }
    }
}
