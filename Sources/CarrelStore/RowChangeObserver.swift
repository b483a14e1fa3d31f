/// What a program that remembers rows wants to hear of: whose they are that change.
package struct RowChangeObserver: Sendable {
    /// What changed.
    package enum Changes: Sendable, Equatable {
        /// Rows of these keys.
        case of([String])
        /// Rows of anybody's.
        case any
    }

    /// Makes a trigger each, in the subset of SQL that is SQLite's own: `CREATE TEMP TRIGGER IF NOT EXISTS …`, which selects
    /// `note_change(KEY)`, where the key is NULL for a change of what may be anybody's.
    package let triggers: [StaticString]
    /// Called on the writer's thread: it must not wait.
    package let tell: @Sendable (Changes) -> Void

    /// - Parameters:
    ///   - triggers: make a trigger each, if it is not there.
    ///   - tell: is told of every change before whoever made it hears that it is durable, and perhaps of some that came to nothing.
    package init(triggers: [StaticString], tell: @escaping @Sendable (Changes) -> Void) {
        self.triggers = triggers
        self.tell = tell
    }
}
