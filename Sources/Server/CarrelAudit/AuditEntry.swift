// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto

/// An entry of the audit log.
package struct AuditEntry: Sendable, Equatable {
    package let id: String
    package let at: Instant
    /// The actor: an account's id, a back-office key's id, `operator` for the home's own socket, or `nobody`.
    package let actor: String
    /// The action: a stable dotted word, such as `session.start`.
    package let action: String
    /// On what: an id.
    package let subject: String
    package let outcome: Outcome
    /// Why, as a stable word; empty where the outcome says it all.
    package let reason: String
    package let requestID: String

    package enum Outcome: String, Sendable, CaseIterable { case allowed, refused, failed }

    init(
        at: Instant,
        actor: String,
        action: String,
        subject: String,
        outcome: Outcome = .allowed,
        reason: String = "",
        requestID: String = "",
        id: String? = nil
    ) {
        self.id = id ?? Random.uuid(at: at)
        self.at = at
        self.actor = actor
        self.action = action
        self.subject = subject
        self.outcome = outcome
        self.reason = reason
        self.requestID = requestID
    }

    /// The reason of an entry that stands for several of one reason.
    static func folded(_ reason: String, _ count: Int) -> String { "\(reason) +\(count)" }

    /// The reason, and how many requests the entry stands for. One that stands for several has no request's id, and their number at
    /// the end of its reason, after " +".
    package var unfolded: (reason: String, count: Int) {
        guard requestID.isEmpty, let end = reason.utf8.lastIndex(of: UInt8(ascii: "+")), end != reason.startIndex else {
            return (reason, 1)
        }
        let (head, digits) = (reason[..<reason.utf8.index(before: end)], reason[reason.utf8.index(after: end)...])
        guard reason.utf8[reason.utf8.index(before: end)] == UInt8(ascii: " "), !digits.isEmpty,
            digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let count = Int(digits)
        else { return (reason, 1) }
        return (String(head), count)
    }

    /// Newest first; entries of one moment by their ids.
    static func isListedBefore(_ left: Self, _ right: Self) -> Bool { (right.at, left.id) < (left.at, right.id) }
}
