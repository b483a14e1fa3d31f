// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelKeyStore
import CarrelEME
import CarrelHTTP
import CarrelLicensing
import CarrelMetrics
import CarrelRights
import CarrelTokens
import CarrelWebAPI

/// Serves stored keys in the clear, as ClearKey does (W3C EME §9.1).
struct ClearKeys: Sendable {
    let tokens: Tokens
    let keys: ContentKeys
    let clock: any WallClock
    let audit: AuditFold
    let counters: Counters

    /// Requests by outcome.
    struct Counters: Sendable {
        let issued: Counter
        let denied: Counter
    }

    /// Answers a request of a player.
    ///
    /// - Parameters:
    ///   - bytes: the message of the player.
    ///   - token: the license message that authorizes it; nil without one.
    ///   - address: the client's address; nil if unknown.
    ///   - requestID: the request's id for the audit log.
    /// - Returns: the license, or the acknowledgement of a release.
    /// - Throws: ``RuleError`` `license.request` for a malformed request; ``ClearKeyDenial``; the database's error.
    func answer(_ bytes: [UInt8], token: String?, from address: IPAddress?, requestID: String) async throws -> [UInt8] {
        let request: ClearKeyRequest
        do throws(EMEError) {
            request = try ClearKeyRequest(parsing: bytes.rawSpan)
        } catch {
            throw RuleError(.invalid, "license.request", error.message)
        }
        // a release grants nothing and no license here depends on it: it is acknowledged also when the message has ended
        guard case .license(let session) = request.purpose else { return request.write() }
        let now = clock.now
        let (message, signer) = try await message(token, at: now)
        let actor = AuditActor(signer.owner ?? message.communicationKeyID.uuid, requestID: requestID)
        do {
            let license = try await license(for: request, session, message, signer, from: address, at: now)
            let reason = "\(session.rawValue) \(license.keys.count)/\(request.keyIDs.count)"
            let subject = license.keys.first.map { Hex.encode($0.id) } ?? ""
            try await audit.record("clear-key.issue", on: subject, by: actor, at: now, reason: reason)
            counters.issued.add()
            return license.write(for: request)
        } catch let error as RuleError {
            counters.denied.add()
            let account = message.communicationKeyID.uuid
            try await audit.recordRefused("clear-key.deny", of: account, by: actor, at: now, reason: error.code.identifier)
            throw ClearKeyDenial(.notAuthorized, error)
        }
    }

    /// The verified message.
    private func message(_ token: String?, at now: Instant) async throws -> (LicenseMessage, CommunicationKeys.Signer) {
        guard let token else {
            throw ClearKeyDenial(
                .insufficientProof,
                RuleError(
                    .forbidden,
                    "license.token",
                    "the request has no license message: send it as a bearer token or in X-AxDRM-Message"
                )
            )
        }
        do {
            return try await tokens.message(token, at: now)
        } catch let error as RightsError {
            counters.denied.add()
            let code = error.code == .expired ? "license.token-expired" : "license.token"
            throw ClearKeyDenial(.insufficientProof, RuleError(.forbidden, code, error.message))
        }
    }

    /// The license with all requested keys that may be served.
    private func license(
        for request: ClearKeyRequest,
        _ session: ClearKeyRequest.Session,
        _ message: LicenseMessage,
        _ signer: CommunicationKeys.Signer,
        from address: IPAddress?,
        at now: Instant
    ) async throws -> ClearKeyLicense {
        let grant = try ClearKeyGrant(message, signedBy: signer, for: session, from: address, at: now)
        let granted = request.keyIDs.compactMap { KeyID($0) }.filter { grant.keys[$0] != nil }
        guard !granted.isEmpty else {
            throw RuleError(.forbidden, "license.content", "the license message is for other keys")
        }
        let stored = try await keys.keysForClearKey(granted, of: grant.reach)
        let served = granted.compactMap { id -> ClearKeyLicense.Key? in
            // a message that brings another key under the same id is for other content
            guard let key = stored[id], grant.keys[id].flatMap(\.self).map({ $0 == key }) ?? true else { return nil }
            return ClearKeyLicense.Key(id: id.bytes, key: key)
        }
        guard !served.isEmpty else {
            throw RuleError(
                .forbidden,
                "license.key",
                "the key store has no such key that ClearKey may serve: see 'carrel content-key set --clear-key'"
            )
        }
        return ClearKeyLicense(served)
    }
}

extension CommunicationKeys.Signer {
    /// The back-office key that messages count as.
    fileprivate var owner: String? {
        if case .portal(let owner) = self { owner } else { nil }
    }
}
