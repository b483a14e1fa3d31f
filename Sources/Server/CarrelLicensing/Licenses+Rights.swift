// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
package import CarrelRights
import CarrelStore
import CarrelTokens
import CarrelWebAPI

/// The proof by which a caller of the rights location is known.
package enum RightsCaller: Sendable {
    /// A certificate in DER whose key the caller has, as the TLS handshake or a proxy that the operator named says.
    case certificate([UInt8])
    /// A proof of possession, checked but for whose key it is and whether it was used.
    case proof(DPoPProof)
}

extension Licenses {
    /// Redeems the token of a stream for a license of the caller, which must not be stored.
    ///
    /// - Parameters:
    ///   - token: the text of the token.
    ///   - caller: the caller with its proof.
    ///   - requestID: the request's id for the audit log.
    /// - Returns: the signed license. It repeats the digest and the id of the proof; with a certificate, the digest of the token and no nonce.
    /// - Throws: ``RuleError`` with a code `license.…` or `personalization.…`.
    package func redeem(_ token: String, of caller: RightsCaller, requestID: String) async throws -> String {
        let now = clock.now.wholeSecond
        let keys = try await authority.keys()
        guard let player = try await player(caller, keys, at: now) else {
            throw RuleError.licenseNotPersonalized(.unauthenticated)
        }
        try throttle(player, at: now)
        let actor = AuditActor(player.account ?? player.id, requestID: requestID)
        return try await recordingDenial("license.deny", of: player.id, by: actor, at: now) {
            let grant = try await opened(token, at: now)
            guard grant.message == nil, grant.rules.kind == .ms3 else {
                throw RuleError(.forbidden, "license.not-stream", "the token is for a license: redeem it at /v1/license")
            }
            var (digest, nonce, once) = (SHA256.hash(Array(token.utf8).rawSpan), "", Once?.none)
            if case .proof(let proof) = caller {
                (digest, nonce) = (proof.digest, proof.id)
                once = Once(
                    bytes: SHA256.hash(Array("\(proof.thumbprint) \(proof.id)".utf8).rawSpan),
                    // nodes differ by seconds
                    end: proof.issuedAt + DPoPProof.tolerance + .seconds(60),
                    refusal: RuleError(
                        .unauthenticated,
                        "license.proof-used",
                        "the proof was used before: make another"
                    )
                )
            }
            let request = KeyRequest(
                id: requestID,
                environment: keys.environment,
                session: .stream,
                contentID: "",
                nonce: nonce,
                clock: now,
                level: player.level
            )
            let outcome = try await decided(request, player, grant, once, by: actor, at: now)
            return try signed(outcome, request, digest: digest, version: 1, keys, at: now)
        }
    }

    /// The player of a caller; nil unless it has a certificate of this service that has not ended.
    private func player(_ caller: RightsCaller, _ keys: Authority.Keys, at now: Instant) async throws -> Player? {
        switch caller {
        case .certificate(let der):
            guard let certificate = try? keys.document.player(der, root: keys.root, at: now) else { return nil }
            let thumbprint = certificate.certificate.thumbprint
            let found = try await database.read { try Players.find(certificate: thumbprint, at: now, in: $0) }
            return found?.player.id == certificate.player ? found?.player : nil
        case .proof(let proof):
            let thumbprint = proof.thumbprint
            let found = try await database.read { try Players.find(signingKey: thumbprint, in: $0) }
            return found.flatMap { now < $0.expiresAt ? $0 : nil }
        }
    }
}
