// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
import CarrelHTTP
package import CarrelJSON
import CarrelHTTPClient
import CarrelRights
import CarrelVault

/// A license that was redeemed.
public struct RedeemedLicense: Sendable, Equatable {
    /// The license's id.
    public let license: String
    /// The content's id.
    public let contentID: String
    /// When it ends; nil for never.
    public let until: Instant?
    /// Whether it is in the store. A streaming license is never stored.
    public let isStored: Bool
}

extension PlayerEngine {
    /// Stores a license that was not redeemed here, for example from a download.
    ///
    /// - Parameters:
    ///   - data: the signed license.
    ///   - tag: the app's own text, at most 255 bytes.
    ///   - priority: the license with the highest priority for a content is used.
    /// - Returns: the stored license.
    /// - Throws: `player.rejected` for a license from another service, for another player, for a stream, or older than the stored
    ///   one.
    @discardableResult
    public func addLicense(_ data: String, tag: String = "", priority: Int = 0) async throws(PlayerError) -> StoredLicense {
        let license: License
        do throws(RightsError) {
            license = try await verified { trust throws(RightsError) in try License(data, keys: trust.keys) }
        } catch {
            throw PlayerError(.rejected, error.message)
        }
        return try await keep(license, data, tag: tag, priority: priority)
    }

    /// Takes a license in any form: signed, or as a token that is redeemed first.
    ///
    /// - Parameter text: a signed license, an action token (XML), a license message (JWT), or a compound URL.
    /// - Throws: the errors of ``addLicense(_:tag:priority:)`` and ``process(_:tag:priority:)``.
    package func takeLicense(_ text: String) async throws(PlayerError) {
        let text = ServiceToken.trimmed(text)
        if RightsMessage.isLicense(text) { try await addLicense(text) } else { try await process(text) }
    }

    /// Whether a text has the form of a license or of a token.
    package nonisolated static func seemsLicense(_ text: String) -> Bool {
        if RightsMessage.isLicense(ServiceToken.trimmed(text)) { return true }
        do throws(PlayerError) {
            return try !ServiceToken(text).isRegistration
        } catch {
            return error.code != .token
        }
    }

    func keep(
        _ license: License,
        _ data: String,
        tag: String,
        priority: Int,
        isRenewal: Bool = false
    ) async throws(PlayerError) -> StoredLicense {
        let trust = try await trust()
        guard license.player == trust.player else { throw PlayerError(.rejected, "the license is for another device") }
        guard license.terms.isStorable, license.session == nil else {
            throw PlayerError(.rejected, "the license is for a stream: it is not kept")
        }
        guard tag.utf8.count <= LicenseStore.tagLimit else {
            throw PlayerError(.rejected, "a tag has at most \(LicenseStore.tagLimit) bytes")
        }
        let now = try await licenses().clock().read(on: host).instant
        let row = LicenseRow(license, data: data, tag: tag, priority: priority, addedAt: now)
        // first, so that the old license stays in use until the revocation list that the new license requires has arrived
        try await meetRevocations(of: license)
        return try await licenses().add(row, keys: trust.keys, isRenewal: isRenewal)
    }

    /// Fetches the list of revocations that a license demands.
    func meetRevocations(of license: License) async throws(PlayerError) {
        let known = try await trust().revocations.number
        if license.minimumRevocations > known { try await updateRevocations() }
    }

    /// Redeems a sealed token or a license message, and keeps the license unless it is for a stream.
    func redeem(
        _ token: String,
        _ session: KeyRequest.Session,
        contentID: String = "",
        keyIDs: [KeyID] = [],
        at url: String? = nil,
        tag: String,
        priority: Int
    ) async throws(PlayerError) -> RedeemedLicense {
        try await transaction(.license) { () throws(PlayerError) in
            // The service would return a license that is about to be returned. It serves 60 requests a minute.
            await sendReleases(atMost: 10)
            let (license, text) = try await exchange(session, contentID: contentID, at: url) {
                ($0.token, $0.keyIDs) = (token, keyIDs)
            }
            await replaceStaleRevocations()
            let isStored = session == .persist
            if isStored {
                _ = try await keep(license, text, tag: tag, priority: priority)
            } else {
                try await hold(license, priority: priority)
            }
            return RedeemedLicense(
                license: license.id,
                contentID: license.contentID,
                until: LicenseRecord(license).end,
                isStored: isStored
            )
        }
    }

    /// Renews a stored license: gets new terms with a larger sequence number, and reports the plays to the service.
    ///
    /// - Parameter id: the id of a license in the store.
    /// - Returns: the stored license.
    /// - Throws: `player.no-license` for an unknown license; ``PlayerError``.
    @discardableResult
    public func renew(_ id: String) async throws(PlayerError) -> StoredLicense {
        try await transaction(.license) { () throws(PlayerError) in
            let (row, known) = try await stored(id)
            let (license, text) = try await exchange(.renew, contentID: known.license.contentID) {
                ($0.license, $0.sequence, $0.plays) = (id, known.license.sequence, row.plays)
            }
            await replaceStaleRevocations()
            guard license.id == id, license.sequence > known.license.sequence else {
                throw PlayerError(.rejected, "the service answered with another license, or an older one")
            }
            _ = try await keep(license, text, tag: row.tag, priority: row.priority, isRenewal: true)
            await sendReleases()
            return try await licenses().update(id) { [plays = row.plays] row in
                guard var known = row else { throw PlayerError(.noLicense, "the license was removed meanwhile") }
                known.reported = max(known.reported, plays)
                row = known
                return (true, known.stored)
            }
        }
    }

    /// Returns a license to the service. Its keys are deleted immediately; the service is notified now, or at the next contact.
    ///
    /// - Parameter id: the id of a license in the store.
    /// - Returns: whether the service has been notified.
    /// - Throws: `player.no-license` for an unknown license; `player.store`.
    @discardableResult
    public func release(_ id: String) async throws(PlayerError) -> Bool {
        let content = try await stored(id).1.license.contentID
        guard try await licenses().release(id, contentID: content) else {
            throw PlayerError(.noLicense, "there is no license \(id) on this device")
        }
        return await sendReleases()
    }

    /// Removes a license from this device without returning it: the service still counts it.
    ///
    /// - Parameter id: the id of a license in the store.
    /// - Throws: `player.no-license` for an unknown license; `player.store`.
    public func removeLicense(_ id: String) async throws(PlayerError) {
        guard try await licenses().remove(id) else { throw PlayerError(.noLicense, "there is no license \(id) on this device") }
    }

    /// The revoked licenses of a set, by the revocation list on this device.
    ///
    /// - Parameter ids: license IDs.
    /// - Returns: the IDs of the revoked licenses.
    /// - Throws: `player.not-personalized`, `player.store`, `player.outdated`, `player.fingerprint`.
    public func revokedLicenses(of ids: [String]) async throws(PlayerError) -> Set<String> {
        let trust = try await trust()
        return trust.isRevoked ? Set(ids) : trust.revocations.licenses.intersection(ids)
    }

    /// Removes expired and revoked licenses. If the clock is not trusted, nothing is removed.
    ///
    /// - Returns: the number of removed licenses.
    /// - Throws: `player.clock` if only the service knows the time; `player.store`; `player.outdated` if the player's file is
    ///   older than its store, so that revocations may be missing.
    @discardableResult
    public func expungeExpiredLicenses() async throws(PlayerError) -> Int {
        let reading = try await licenses().clock().read(on: host)
        switch reading.certainty {
        case .signed, .estimated:
            let (store, trust) = (try await licenses(), try await trust())
            let revoked = trust.isRevoked ? nil : trust.revocations.licenses
            let count = revoked?.isEmpty == true ? 0 : try await store.expunge(revoked)
            return try await store.expungeExpired(at: reading.instant) + count
        case .farAhead, .rolledBack, .unreadable:
            throw PlayerError(.clock, "the device's clock cannot be trusted now: ask the service for the time first")
        }
    }

    /// Reports play counts to the service, for licenses with unreported plays.
    ///
    /// - Returns: the number of licenses reported.
    /// - Throws: the ``PlayerError`` of the first license that failed; the others are tried too.
    @discardableResult
    public func uploadPlays() async throws(PlayerError) -> Int {
        try await transaction(.metering) { () throws(PlayerError) in
            var (count, last, failure): (Int, String, PlayerError?) = (0, "", nil)
            while true {
                let page = try await licenses().licenses(after: last, limit: 100)
                for license in page where license.plays > license.reportedPlays {
                    do throws(PlayerError) {
                        try await renew(license.id)
                        count += 1
                    } catch {
                        // The service no longer counts an expired license.
                        if error.code == .ended { try await setReported(license.id) } else { failure = failure ?? error }
                    }
                }
                guard let end = page.last?.id, page.count == 100 else { break }
                last = end
            }
            if let failure { throw failure }
            return count
        }
    }

    private func setReported(_ id: String) async throws(PlayerError) {
        try await licenses().update(id) { row in
            guard let plays = row?.plays else { return (false, ()) }
            row?.reported = plays
            return (true, ())
        }
    }

    private func stored(_ id: String) async throws(PlayerError) -> (LicenseRow, LicenseRecord) {
        guard let row = try await licenses().row(id) else {
            throw PlayerError(.noLicense, "there is no license \(id) on this device")
        }
        return (row, try await record(row))
    }

    /// The terms of a license as its service signed them, without its keys, for a display.
    package func terms(of id: String) async throws(PlayerError) -> JSON {
        let license = try await stored(id).1.license
        return [
            "sequence": .integer(license.sequence), "terms": license.terms.json,
            "obligations": .array(license.obligations.map(\.json)), "kids": .array(license.keys.map { .string($0.id.hex) }),
            "issuedAt": .string(license.issuedAt.description), "player": .string(license.player),
        ]
    }

    /// The license of a row, verified again.
    func record(_ row: LicenseRow) async throws(PlayerError) -> LicenseRecord {
        let keys = try await trust().keys
        do throws(RightsError) {
            return try row.record(keys)
        } catch {
            throw PlayerError(.storeDamaged, error.message)
        }
    }

    /// Sends the releases that wait.
    ///
    /// - Returns: whether none waits any longer.
    @discardableResult
    func sendReleases(atMost limit: Int = 100) async -> Bool {
        guard let store = try? await licenses(), let waiting = try? await store.pendingReleases(atMost: limit) else {
            return false
        }
        var isDone = true
        for release in waiting {
            do throws(PlayerError) {
                _ = try await exchange(.release, contentID: release.contentID) {
                    ($0.license, $0.sequence, $0.plays) = (release.license, release.sequence, release.plays)
                }
                try await store.removeRelease(release.license)
            } catch {
                // The service no longer knows the license: there is nothing to return.
                if error.serverCode == "license.unknown" {
                    try? await store.removeRelease(release.license)
                } else if error.isRetryable || error.isTLS {
                    // no server: further reports would fail too
                    return false
                } else {
                    isDone = false
                }
            }
        }
        return isDone
    }

    /// Tells the listener of a transaction.
    func transaction<Value>(
        _ kind: PlayerTransaction.Kind,
        _ body: () async throws(PlayerError) -> Value
    ) async throws(PlayerError) -> Value {
        listener?(.began(kind))
        do throws(PlayerError) {
            let value = try await body()
            listener?(.ended(kind, nil))
            return value
        } catch {
            listener?(.ended(kind, error))
            throw error
        }
    }
}

// MARK: - The exchange

extension PlayerEngine {
    /// Sends a key request and verifies the response.
    ///
    /// - Parameters:
    ///   - session: the kind of request.
    ///   - contentID: the content ID; empty to use the token's.
    ///   - url: the license acquisition URL; nil for the player's own server.
    ///   - complete: adds the token or the license.
    /// - Returns: the license and its text.
    /// - Throws: ``PlayerError``.
    func exchange(
        _ session: KeyRequest.Session,
        contentID: String,
        at url: String? = nil,
        _ complete: (inout KeyRequest) -> Void
    ) async throws(PlayerError) -> (license: License, text: String) {
        try await renewCertificate()
        return try await withCurrentKeys { () throws(PlayerError) in
            try await exchangeOnce(session, contentID, url, complete)
        }
    }

    /// Runs an operation, and repeats it once if the service replaced its encryption key or does not know the player's
    /// certificate.
    func withCurrentKeys<Value>(_ body: () async throws(PlayerError) -> Value) async throws(PlayerError) -> Value {
        do throws(PlayerError) {
            return try await body()
        } catch {
            switch error.serverCode {
            case "license.request": try await updateKeys()
            case "personalization.revoked", "license.ended":
                // licenses that the service ended are refused here too, even offline from now on
                try? await updateRevocations()
                throw error
            case "license.not-personalized":
                guard let identity, !identity.server.isEmpty else { throw error }
                try await personalize(server: identity.server, isForced: true)
            default: throw error
            }
            return try await body()
        }
    }

    /// Renews the certificate when that is due; until it has ended, the device works without.
    func renewCertificate() async throws(PlayerError) {
        guard let identity, clock.now >= identity.renewAt else { return }
        do throws(PlayerError) {
            try await personalize(server: identity.server)
        } catch {
            guard error.isRetryable, clock.now < identity.expiresAt else { throw error }
        }
    }

    private func exchangeOnce(
        _ session: KeyRequest.Session,
        _ contentID: String,
        _ url: String?,
        _ complete: (inout KeyRequest) -> Void
    ) async throws(PlayerError) -> (license: License, text: String) {
        let host = host
        let ((text, digest), request) = try await request(session, contentID: contentID, complete)
        let (server, player) = (try server(), try await trust().player)
        listener?(.progress(.license, step: "request", done: 2, total: 4))
        let answer = try await server.post(url ?? server.base + "/v1/license", jose: text)
        listener?(.progress(.license, step: "answer", done: 3, total: 4))
        let license = try await license(answer, for: request, digest: digest, player: player)
        try await take(license.signedAt, on: host)
        listener?(.progress(.license, step: "verified", done: 4, total: 4))
        return (license, answer)
    }

    /// The license of a response, verified as the answer to a request.
    ///
    /// - Throws: `player.rejected`.
    func license(
        _ answer: String,
        for request: KeyRequest,
        digest: [UInt8],
        player: String
    ) async throws(PlayerError) -> License {
        do throws(RightsError) {
            let license = try await verified { trust throws(RightsError) in try License(answer, keys: trust.keys) }
            guard license.player == player, license.request == digest, license.nonce == request.nonce,
                license.offered == request.versions, license.version == request.versions.max()
            else { throw RightsError(.signature, "the license is not the answer to this request") }
            return license
        } catch {
            let words = error.code == .malformed ? "the server's answer is not a license: " : ""
            throw PlayerError(.rejected, words + error.message)
        }
    }

    /// Makes a request with a fresh nonce, signed and encrypted.
    ///
    /// - Parameters:
    ///   - session: the kind of request.
    ///   - contentID: the content ID; empty to use the token's.
    ///   - key: the service's key for requests; nil for its newest known key.
    ///   - complete: adds the token or the license.
    /// - Returns: the text to send, the digest that the response must repeat, and the request.
    /// - Throws: ``PlayerError``.
    func request(
        _ session: KeyRequest.Session,
        contentID: String,
        to key: P256.PublicKey? = nil,
        _ complete: (inout KeyRequest) -> Void
    ) async throws(PlayerError) -> (sealed: (text: String, digest: [UInt8]), request: KeyRequest) {
        let (trust, server) = (try await trust(), try server())
        listener?(.progress(.license, step: "challenge", done: 1, total: 4))
        let challenge = try await server.post("/v1/personalize/challenge", type: nil, "")
        guard let nonce = challenge["nonce"]?.string else {
            throw PlayerError(.host, "the server's answer has no nonce: is it a Carrel server?")
        }
        let (host, known) = (host, try await licenses().clock())
        var request = KeyRequest(
            id: Random.uuid(),
            environment: trust.keys.environment,
            session: session,
            contentID: contentID,
            nonce: nonce,
            clock: host.wall,
            level: vault.level
        )
        request.trustedTime = known.signed
        request.bootID = host.bootID
        request.secondsSinceBoot = Int(host.sinceBoot?.components.seconds ?? 0)
        request.revocations = trust.revocations.number
        request.capabilities = Array(capabilities.obligations.sorted().prefix(32))
        complete(&request)
        return (try await sealed(request, trust, to: key, at: known.read(on: host).instant), request)
    }

    private func sealed(
        _ request: KeyRequest,
        _ trust: ServiceTrust,
        to named: P256.PublicKey?,
        at now: Instant
    ) async throws(PlayerError) -> (text: String, digest: [UInt8]) {
        let key = named ?? trust.keys.agreementKey(at: now) ?? trust.keys.agreementKey(at: clock.now)
        guard let key else { throw PlayerError(.rejected, "the service has no key for requests at this time") }
        let vault = vault
        do {
            return try await request.sealed(certificate: trust.certificate.thumbprint, to: key) {
                try await vault.sign($0, withKey: Self.signingKey)
            }
        } catch let error as VaultError {
            throw Self.failure(error)
        } catch {
            throw PlayerError(.vault, "the vault does not sign")
        }
    }
}
