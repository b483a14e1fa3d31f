// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelJOSE
package import CarrelRights
import CarrelTokens

/// The steps of an exchange with the license server, one at a time, for sessions that show them to an app.
extension PlayerEngine {
    /// A request for keys, encrypted to the service.
    package struct KeyRequestData: Sendable {
        /// The text to send (`application/jose`).
        package let text: String
        let request: KeyRequest
        let digest: [UInt8]
        /// The license message that is sent with it; nil if the request contains its token.
        package let message: String?
        fileprivate let host: HostClock
    }

    /// A response of the license server, verified as the answer to a request.
    package struct KeyResponse: Sendable {
        let license: License
        let text: String
        let isRenewal: Bool
        /// The plays that the request reported.
        let plays: Int

        /// The id of the license.
        package var licenseID: String { license.id }
        /// The ids of its keys, 32 hexadecimal digits each.
        package var keyIDs: [String] { license.keys.map(\.id.hex) }
        /// When it ends; nil for never.
        package var end: Instant? { LicenseRecord(license).end }
        /// Whether it is of an order, whose keys are derived from the key in it.
        package var isOfOrder: Bool { license.rotatesKeys != nil }
        /// Whether the store of a device may keep it.
        package var isStorable: Bool { license.terms.isStorable && license.session == nil }
    }

    /// The base URL of the player's own service; nil for a folder without a player.
    package var service: String? { state?.answer == nil ? nil : state?.server }

    /// Refuses an address of another service.
    ///
    /// - Parameter url: the address of a license server.
    /// - Throws: `player.server` with the names of both services; `player.not-personalized`.
    package func requireOwnService(_ url: String) throws(PlayerError) {
        let own = try server()
        guard !own.isOwn(url) else { return }
        let other =
            ServiceAddress(url).map { "\($0.scheme)://\($0.rest.prefix { !"/?#".contains($0) })" } ?? "an address that is no URL"
        throw PlayerError(.server, "the license server is \(other), and this player belongs to \(own.base)")
    }

    /// Fetches the certificate of the service's key for requests, and checks it under the player's root.
    ///
    /// - Parameter url: where it is; nil for the player's own service.
    /// - Returns: the certificate in DER.
    /// - Throws: `player.rejected` for a certificate that the service's root did not issue for such a key; ``PlayerError``.
    package func serviceCertificate(at url: String? = nil) async throws(PlayerError) -> [UInt8] {
        let server = try server()
        let bytes = try await server.bytes(at: url ?? server.base + "/v1/license/certificate", atMost: Self.certificateLimit)
        _ = try await requestKey(of: bytes)
        return bytes
    }

    private static var certificateLimit: Int { 16 << 10 }

    /// The key in a certificate of the service, which the player's root issued for requests.
    private func requestKey(of der: [UInt8]) async throws(PlayerError) -> P256.PublicKey {
        let (trust, now) = (try await trust(), try await judgingTime().instant)
        do {
            let certificate = try Certificate(der: der)
            let path = try CertificateRoots([trust.root]).verify(certificate, through: [], at: now)
            let key = try P256.PublicKey(subjectPublicKeyInfo: certificate.subjectPublicKeyInfo)
            // the subject of such a certificate is the key's own id; servers and players have other subjects
            guard path.count == 2, certificate.commonName == JWK.p256(key).thumbprint else {
                throw CryptoError(.untrusted, "it is not the certificate of a key for requests")
            }
            return key
        } catch {
            let reason = (error as? CryptoError)?.message ?? "it cannot be read"
            throw PlayerError(.rejected, "the certificate of the service is refused: \(reason)")
        }
    }

    /// Makes a request for keys with a fresh nonce, signed by the player and encrypted to the key of a certificate.
    ///
    /// - Parameters:
    ///   - session: the kind of request.
    ///   - certificate: the certificate of the service in DER.
    ///   - contentID: the content ID; empty for the content of the token.
    ///   - keyIDs: the requested keys, at most 64; empty for all keys of the content.
    ///   - versions: versions of the protocol, of which this program must speak one.
    ///   - token: the token to redeem; nil in a renewal.
    ///   - license: the license to renew; nil otherwise.
    /// - Returns: the request.
    /// - Throws: `player.token` for other text than the token of a license; ``PlayerError``.
    package func makeKeyRequest(
        _ session: KeyRequest.Session,
        certificate: [UInt8],
        contentID: String = "",
        keyIDs: [KeyID] = [],
        versions: [Int] = KeyRequest.versions,
        token: String? = nil,
        license: String? = nil
    ) async throws(PlayerError) -> KeyRequestData {
        let spoken = versions.filter(KeyRequest.versions.contains)
        guard !spoken.isEmpty else {
            throw PlayerError(.rejected, "this player speaks no version of the protocol that is asked for")
        }
        try await renewCertificate()
        // the service would return a license that is about to be given back
        if license == nil { await sendReleases(atMost: 10) }
        let key = try await requestKey(of: certificate)
        let (sealed, message) = try Self.parts(ofToken: token)
        var former: (id: String, sequence: Int, plays: Int, contentID: String)?
        if let license, let held = streams[license]?.record {
            former = (license, held.license.sequence, held.plays, held.license.contentID)
        } else if let license {
            guard let row = try await licenses().row(license) else {
                throw PlayerError(.noLicense, "there is no license \(license) on this device")
            }
            let record = try await record(row)
            former = (row.id, record.license.sequence, row.plays, record.license.contentID)
        }
        let host = host
        let (made, request) = try await self.request(session, contentID: former?.contentID ?? contentID, to: key) {
            ($0.token, $0.keyIDs, $0.versions) = (sealed, keyIDs, spoken)
            if let former { ($0.license, $0.sequence, $0.plays) = (former.id, former.sequence, former.plays) }
        }
        return KeyRequestData(text: made.text, request: request, digest: made.digest, message: message, host: host)
    }

    /// The token inside a request, or the license message next to it.
    private static func parts(ofToken text: String?) throws(PlayerError) -> (sealed: String?, message: String?) {
        guard let text else { return (nil, nil) }
        switch try ServiceToken(text).content {
        case .message(let message):
            // a longer one does not fit the header of a request
            return message.utf8.count <= messageLimit ? (nil, message) : (message, nil)
        case .action(let action):
            guard action.operation == .licenseAcquisition else {
                throw PlayerError(.token, "the token is for a registration, not for a license")
            }
            return (Base64URL.encode(action.businessToken), nil)
        case .url:
            throw PlayerError(.token, "the token of a compound URL is redeemed at its rights location: play that URL")
        }
    }

    private static var messageLimit: Int { 8192 }

    /// Sends a request for keys to the license server.
    ///
    /// - Parameters:
    ///   - data: the request.
    ///   - url: the address of the license server, which is the player's own service; nil for its usual address.
    /// - Returns: the signed response, its status, and its header fields.
    /// - Throws: ``PlayerError`` with the reason of a refusal.
    package func send(
        _ data: KeyRequestData,
        to url: String? = nil
    ) async throws(PlayerError) -> (text: String, status: Int, fields: [(name: String, value: String)]) {
        let server = try server()
        if let url { try requireOwnService(url) }
        let response = try await server.response(to: data.text, at: url ?? server.base + "/v1/license", message: data.message)
        return (try PlayerServer.text(response), response.status.rawValue, response.headers.map { ($0.name, $0.value) })
    }

    /// Verifies a response of the license server.
    ///
    /// - Parameters:
    ///   - text: the response.
    ///   - data: the request that it answers.
    /// - Returns: the response, verified. Nothing is stored.
    /// - Throws: `player.rejected` if it is not the answer to the request.
    package func read(_ text: String, for data: KeyRequestData) async throws(PlayerError) -> KeyResponse {
        let player = try await trust().player
        let license = try await license(text, for: data.request, digest: data.digest, player: player)
        try await take(license.signedAt, on: data.host)
        return KeyResponse(
            license: license,
            text: text,
            isRenewal: data.request.session == .renew,
            plays: data.request.plays
        )
    }

    /// The keys that a stored license has and a response for it lacks: to store the response would lose them.
    ///
    /// - Parameter response: a verified response.
    /// - Returns: the ids of the keys.
    /// - Throws: `player.store`, `player.store-damaged`.
    package func keysLost(by response: KeyResponse) async throws(PlayerError) -> [KeyID] {
        guard let row = try await licenses().row(response.license.id) else { return [] }
        let present = Set(response.license.keys.map(\.id))
        return try await record(row).license.keys.map(\.id).filter { !present.contains($0) }
    }

    /// The keys that a stream's license has and a response for it lacks: to hold the response would end them in another use.
    ///
    /// - Parameter response: a verified response.
    /// - Returns: the ids of the keys.
    package func heldKeysLost(by response: KeyResponse) -> [KeyID] {
        guard let held = streams[response.license.id] else { return [] }
        let present = Set(response.license.keys.map(\.id))
        return held.record.license.keys.map(\.id).filter { !present.contains($0) }
    }

    /// Stores the license of a response. It is on the disk before this returns.
    ///
    /// - Parameter response: a verified response.
    /// - Throws: `player.rejected` for the license of a stream, or if a stored license has keys that this one lacks; `player.store`.
    package func store(_ response: KeyResponse) async throws(PlayerError) {
        guard try await keysLost(by: response).isEmpty else {
            throw PlayerError(.rejected, "the stored license has keys that the new one lacks: request these keys too")
        }
        let row = try await licenses().row(response.license.id)
        _ = try await keep(
            response.license,
            response.text,
            tag: row?.tag ?? "",
            priority: row?.priority ?? 0,
            isRenewal: response.isRenewal
        )
        await replaceStaleRevocations()
        guard response.isRenewal else { return }
        // a play that began meanwhile is not reported yet
        let plays = response.plays
        try await licenses().update(response.license.id) { row in
            guard let reported = row?.reported, reported < plays else { return (false, ()) }
            row?.reported = plays
            return (true, ())
        }
    }

    /// Holds the license of a response for a stream while the app runs.
    ///
    /// - Parameter response: a verified response.
    /// - Throws: ``PlayerError``.
    package func hold(_ response: KeyResponse) async throws(PlayerError) {
        try await hold(response.license)
        await replaceStaleRevocations()
    }

    /// Fetches what a refusal of the service says is outdated here.
    ///
    /// - Parameter error: the refusal.
    /// - Returns: whether the request can be made again: the service replaced its key for requests, or its player's certificate.
    package func recover(from error: PlayerError) async -> Bool {
        do throws(PlayerError) {
            switch error.serverCode {
            case "license.request": try await updateKeys()
            case "license.not-personalized":
                guard let identity, !identity.server.isEmpty else { return false }
                try await personalize(server: identity.server, isForced: true)
            case "personalization.revoked", "license.ended":
                try await updateRevocations()
                return false
            default: return false
            }
            return true
        } catch {
            return false
        }
    }

    /// A license of the store that has a key.
    ///
    /// - Parameter content: the content ID, or `urn:marlin:kid:…` of the key.
    /// - Returns: its id, the ids of its keys, and whether it has not ended; nil if there is none. A license that has not ended is
    ///   preferred.
    /// - Throws: `player.store`, `player.store-damaged`, `player.not-personalized`.
    package func storedLicense(for content: String) async throws(PlayerError) -> (id: String, keyIDs: [String], isLive: Bool)? {
        var found: (id: String, keyIDs: [String], isLive: Bool)?
        for row in try await licenses().rows(contentIDs: [content]) {
            let ids = try await record(row).license.keys.map(\.id.hex)
            let reason = try await recheck(row.id, LicensedUse(action: .play), isUnderWay: false).reason
            let isLive = reason.map { !Self.endings.contains($0) } ?? true
            if isLive { return (row.id, ids, true) }
            found = found ?? (row.id, ids, false)
        }
        return found
    }

    /// The refusals of a license that has ended: a new one may help.
    private static var endings: Set<ActionResult.Reason> {
        [.expiredStorage, .expiredPlayback, .countExhausted, .revoked, .deviceMismatch, .noLicense]
    }

    /// The id of a stream's license that has a key; nil if there is none.
    ///
    /// - Parameters:
    ///   - content: the content ID, or `urn:marlin:kid:…` of the key.
    ///   - now: the time, for a license that has not ended; nil for any.
    /// - Returns: the id of the license.
    package func heldLicense(for content: String, at now: Instant? = nil) -> String? {
        let held = streams.first { stream in
            guard LicenseRow.contentIDs(stream.value.record.license).contains(content) else { return false }
            guard let now, let end = stream.value.record.end else { return true }
            return now < end
        }
        return held?.key
    }
}
