import CarrelBytes

/// Who does something, and in which request: what the audit log says of it.
package struct Actor: Sendable {
    let id: String
    let requestID: String

    /// Somebody who has not signed in.
    static let nobody = "nobody"

    package init(_ id: String, requestID: String = "") {
        self.id = id
        self.requestID = requestID
    }

    func entry(
        _ action: String,
        on subject: String,
        at now: Instant,
        outcome: Audit.Entry.Outcome = .allowed,
        reason: String = ""
    ) -> Audit.Entry {
        Audit.Entry(at: now, actor: id, action: action, subject: subject, outcome: outcome, reason: reason, requestID: requestID)
    }
}
