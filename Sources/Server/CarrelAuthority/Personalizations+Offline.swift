// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
package import CarrelRights
import CarrelStore
import CarrelWebAPI

extension Personalizations {
    /// The maximum age of a request in a file, and the maximum advance of a device's clock.
    static let offlineLife = Duration.seconds(30 * 86_400)
    private static let clockTolerance = Duration.seconds(86_400)

    /// Personalizes a copy without a network, by a request in a file. A request is certified once.
    ///
    /// - Parameters:
    ///   - text: the signed request, with the player's own nonce.
    ///   - name: the name of the account to link; nil for no link.
    ///   - staff: the actor for the audit log.
    /// - Returns: the response, for the file that is taken back to the device.
    /// - Throws: ``RuleError`` with a code `personalization.…`; ``ServerError`` `request.not-found` for an unknown account.
    package func certify(_ text: String, linkedTo name: String?, by staff: AuditActor) async throws -> PersonalizationResponse {
        let now = clock.now.wholeSecond
        let request = try Self.read(text)
        guard let random = PersonalizationRequest.offlineNonce(request.nonce) else {
            throw RuleError(
                .invalid,
                "personalization.nonce",
                "the request is not one for a file: write it with 'carrel device request'",
                fault: .rejected
            )
        }
        guard now - request.clock <= Self.offlineLife, request.clock - now <= Self.clockTolerance else {
            throw RuleError(
                .invalid,
                "personalization.old",
                "the request is older than 30 days, or the device's clock is ahead: write another",
                fault: .rejected
            )
        }
        var reader: Reader?
        if let name {
            guard let account = try await database.read({ try Accounts.find(named: name, in: $0) }) else {
                throw ServerError(.notFound, "there is no account of that name")
            }
            reader = Reader(account: account.id, device: nil)
        }
        // Kept for as long as the request could come again.
        let end = request.clock + Self.offlineLife + .seconds(1)
        return try await answer(
            request,
            (SHA256.hash((Array("offline\n".utf8) + random).rawSpan), end),
            reader,
            Requester(staff: staff, requestID: staff.requestID, notedAt: clock.now),
            at: now
        )
    }
}
