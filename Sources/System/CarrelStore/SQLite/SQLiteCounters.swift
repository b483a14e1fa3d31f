// SPDX-License-Identifier: Apache-2.0

/// The work of a database's writer since it was opened, for metrics.
package struct SQLiteCounters: Sendable, Equatable {
    /// Calls of `write` that were committed, or whose closure threw, in a group that was committed.
    package internal(set) var writes = 0
    /// Commits, each covering one or more writes.
    package internal(set) var commits = 0
    /// Groups that could not be begun or committed.
    package internal(set) var failures = 0

    package init(writes: Int = 0, commits: Int = 0, failures: Int = 0) {
        self.writes = writes
        self.commits = commits
        self.failures = failures
    }
}
