import CarrelMetrics
import CarrelThreads

/// How much work waits for threads that may block, for an operator: a queue that refuses is one that is too slow.
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
