// SPDX-License-Identifier: Apache-2.0

package import CarrelAccounts
package import CarrelAudit
package import CarrelBytes
import CarrelServer
package import CarrelSubscription

extension AccountAdministration {
    /// Gives an account a new password.
    package func setPassword(_ password: String, of id: String, by actor: AuditActor) async throws {
        try await change(id, Change(password: password), by: actor)
    }

    /// Closes an account for the time being, or opens it again.
    package func setSuspended(_ isSuspended: Bool, _ id: String, by actor: AuditActor) async throws {
        try await change(id, Change(isSuspended: isSuspended), by: actor)
    }

    /// Sets how many devices the account may use; nil leaves it to its plans and the configuration.
    package func setDeviceLimit(_ limit: Int?, of id: String, by actor: AuditActor) async throws {
        try await change(id, Change(deviceLimit: .some(limit)), by: actor)
    }
}

extension Accounts {
    /// The account that a live session's token signs in.
    package func account(ofSession text: String) async throws -> Account? {
        try await session(of: text)?.account
    }
}

extension Entitlement {
    /// Whether any plan runs.
    package func hasCurrentSubscription(at now: Instant) -> Bool {
        subscriptions.contains { $0.isCurrent(at: now) }
    }
}
