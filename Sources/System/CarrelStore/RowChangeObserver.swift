// SPDX-License-Identifier: Apache-2.0

/// The rows whose changes a program that caches them observes, by their owners.
package struct RowChangeObserver: Sendable {
    /// A change.
    package enum Changes: Sendable, Equatable {
        /// Rows of these keys.
        case of([String])
        /// Rows of any owner.
        case any
    }

    /// The statements that create triggers, in SQLite's dialect: `CREATE TEMP TRIGGER IF NOT EXISTS …`, which selects
    /// `note_change(KEY)`, where the key is NULL for a change that may concern any owner.
    package let triggers: [StaticString]
    /// Called on the writer's thread: it must not wait.
    package let tell: @Sendable (Changes) -> Void

    /// - Parameters:
    ///   - triggers: make a trigger each, if it is not there.
    ///   - tell: receives every change before its writer hears that it is durable, and perhaps some that came to nothing.
    package init(triggers: [StaticString], tell: @escaping @Sendable (Changes) -> Void) {
        self.triggers = triggers
        self.tell = tell
    }
}
