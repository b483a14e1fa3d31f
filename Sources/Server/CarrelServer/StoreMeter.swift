// SPDX-License-Identifier: Apache-2.0

import CarrelMetrics
import CarrelStore

/// Metrics of SQLite's writer: writes per commit, and writes waiting for theirs.
enum StoreMeter {
    static func add(_ database: SQLiteDatabase, to metrics: MetricsRegistry) {
        metrics.counter("carrel_store_writes_total", "Committed writes.") { database.counters.writes }
        metrics.counter("carrel_store_commits_total", "Commits; each contains one or more writes.") { database.counters.commits }
        metrics.counter("carrel_store_failures_total", "Groups of writes that failed to begin or commit.") {
            database.counters.failures
        }
        metrics.gauge("carrel_store_waiting_writes", "Writes waiting for their commit.") { Double(database.waitingWrites) }
    }
}
