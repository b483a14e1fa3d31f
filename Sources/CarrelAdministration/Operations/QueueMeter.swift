import CarrelMetrics
import CarrelThreads

/// How much work waits for threads that may block, for an operator: a queue that refuses is one that is too slow.
enum QueueMeter {
    static func add(to metrics: MetricsRegistry) {
        metrics.gauges("carrel_queue_waiting", "Work that waits for a thread, by queue.", by: "queue") {
            BlockingThreadPool.counts().map { ($0.name, Double($0.waiting)) }
        }
        metrics.counters("carrel_queue_refused_total", "Work that was refused because too much waited, by queue.", by: "queue") {
            BlockingThreadPool.counts().map { ($0.name, Double($0.refused)) }
        }
    }
}
