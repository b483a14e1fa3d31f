// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Which entries to list.
package struct AuditFilter: Sendable {
    /// An id, as subject or as actor.
    package var about: String?
    package var action: String?
    package var actor: String?
    package var outcome: AuditEntry.Outcome?
    package var since: Instant?
    package var until: Instant?
    /// The last entry of the page before, by its time and id.
    package var after: (Instant, String)?
    package var limit = 100

    package init() {}

    /// Whether an entry is one of those to list.
    func passes(_ entry: AuditEntry) -> Bool {
        if let after, (after.0, entry.id) <= (entry.at, after.1) { return false }
        return (since.map { entry.at >= $0 } ?? true) && (until.map { entry.at < $0 } ?? true)
            && (action.map { entry.action == $0 } ?? true) && (outcome.map { entry.outcome == $0 } ?? true)
            && (actor.map { entry.actor == $0 } ?? true) && (about.map { entry.subject == $0 || entry.actor == $0 } ?? true)
    }
}
