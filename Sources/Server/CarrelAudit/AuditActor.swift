// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The actor of an audit entry, and the request it acts in.
package struct AuditActor: Sendable {
    package let id: String
    package let requestID: String

    /// The server itself.
    package static let server = "server"
    /// A client that is not signed in.
    package static let anonymous = "nobody"
    /// A client with access to the home itself.
    package static let `operator` = AuditActor("operator")

    package init(_ id: String, requestID: String = "") {
        self.id = id
        self.requestID = requestID
    }

    /// A client that is not signed in.
    package static func unauthenticated(_ requestID: String) -> AuditActor { AuditActor(anonymous, requestID: requestID) }

    package func entry(
        _ action: String,
        on subject: String,
        at now: Instant,
        outcome: AuditEntry.Outcome = .allowed,
        reason: String = ""
    ) -> AuditEntry {
        AuditEntry(
            at: now,
            actor: Self.cleaned(id),
            action: action,
            subject: Self.cleaned(subject),
            outcome: outcome,
            reason: Self.cleaned(reason),
            requestID: Self.cleaned(requestID)
        )
    }

    /// Client-supplied text, without control characters and at most as long as an id.
    static func cleaned(_ text: String) -> String {
        let bytes = text.utf8Span.span
        // branch-free, so that the compiler can vectorize
        var controls: UInt8 = 0
        for i in bytes.indices { controls |= bytes[i] < 0x20 || bytes[i] == 0x7f ? 1 : 0 }
        if bytes.count <= 256, controls == 0 { return text }
        let scalars = text.unicodeScalars.prefix(64).map { $0.value < 0x20 || $0.value == 0x7f ? "\u{fffd}" : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
