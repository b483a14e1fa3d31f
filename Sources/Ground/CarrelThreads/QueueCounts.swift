// SPDX-License-Identifier: Apache-2.0

/// The counts of a queue of work, or of all queues with the same name.
package struct QueueCounts: Sendable, Equatable {
    package let name: String
    /// Work that no thread has taken yet.
    package var waiting: Int
    /// Work that was refused because too much waited.
    package var refused: Int

    package init(name: String, waiting: Int, refused: Int) {
        (self.name, self.waiting, self.refused) = (name, waiting, refused)
    }
}
