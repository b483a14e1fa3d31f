// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelRights
import CarrelTokens
import CarrelVault

extension PlayerEngine {
    /// Redeems a token: a license message or an action token for a stored license, a compound URL for a stream that plays now.
    ///
    /// It can be called again after any failure, or after the process was killed: the same token gives the same license to this
    /// device.
    ///
    /// - Parameters:
    ///   - text: a compound URL, an action token (XML) or a license message (JWT).
    ///   - tag: the app's own text for the license, at most 255 bytes.
    ///   - priority: the license with the highest priority for a content is used.
    /// - Returns: the license.
    /// - Throws: ``PlayerError``: `player.token` for other text, and for a token that the service refuses.
    @discardableResult
    public func process(_ text: String, tag: String = "", priority: Int = 0) async throws(PlayerError) -> RedeemedLicense {
        let token = try ServiceToken(text)
        _ = try await trust()
        switch token.content {
        case .message(let message):
            return try await redeemForStore(message, at: nil, tag: tag, priority: priority)
        case .action(let action):
            guard action.operation == .licenseAcquisition else {
                throw PlayerError(.token, "the token is for a registration, not for a license")
            }
            let url = try await configuration(action.configuration).licenseAcquisition
            return try await redeemForStore(Base64URL.encode(action.businessToken), at: url, tag: tag, priority: priority)
        case .url(let url):
            return try await stream(url)
        }
    }

    /// Redeems a token for a stored license or, if the token is for a stream, a streaming license.
    private func redeemForStore(
        _ token: String,
        at url: String?,
        tag: String,
        priority: Int
    ) async throws(PlayerError) -> RedeemedLicense {
        do throws(PlayerError) {
            return try await redeem(token, .persist, at: url, tag: tag, priority: priority)
        } catch {
            guard error.serverCode == "license.not-storable" else { throw error }
            return try await redeem(token, .stream, at: url, tag: tag, priority: priority)
        }
    }

    /// Takes a license or a token that a file contains. The maker of the file chose it: it leads to the device's own service alone.
    ///
    /// - Parameter text: a signed license, an action token (XML), a license message (JWT), or a compound URL.
    /// - Throws: `player.token` for a token that leads to another server; the errors of ``takeLicense(_:)``.
    package func takeLicense(inFile text: String) async throws(PlayerError) {
        guard text.utf8.count <= Self.fileLicenseLimit else { throw PlayerError(.token, "the license is longer than 64 KiB") }
        let text = ServiceToken.trimmed(text)
        if RightsMessage.isLicense(text) {
            try await addLicense(text)
            return
        }
        let place: String?
        switch try ServiceToken(text).content {
        case .message: place = nil
        case .action(let action): place = action.configuration.location
        case .url(let url): place = url.rightsURL
        }
        if let place, try !server().isOwn(place) {
            throw PlayerError(.token, "the token in the file leads to another server than the device's own: redeem it yourself")
        }
        try await process(text)
    }

    /// The longest license in a file, in bytes.
    private static var fileLicenseLimit: Int { 64 << 10 }

    /// Links this device to a portal's user, or unlinks it, by a registration or deregistration token.
    ///
    /// - Parameter text: the action token (XML).
    /// - Returns: the user and the link.
    /// - Throws: ``PlayerError``: `player.token` for another kind of token, `player.device-limit` if the user has reached the
    ///   device limit.
    @discardableResult
    public func register(_ text: String) async throws(PlayerError) -> PlayerLink {
        guard case .action(let action) = try ServiceToken(text).content, action.operation != .licenseAcquisition else {
            throw PlayerError(.token, "the token is not an action token of a registration or a deregistration")
        }
        let isRegistration = action.operation == .registration
        return try await transaction(isRegistration ? .link : .linkRelease) { () throws(PlayerError) in
            try await renewCertificate()
            let configuration = try await configuration(action.configuration)
            let url = isRegistration ? configuration.registration : configuration.deregistration
            let host = host
            let kind: KeyRequest.Session = isRegistration ? .register : .deregister
            let (answer, sent) = try await withCurrentKeys { () throws(PlayerError) -> (String, KeyRequest) in
                let (sealed, asked) = try await request(kind, contentID: "") {
                    $0.token = Base64URL.encode(action.businessToken)
                }
                return (try await server().post(url, jose: sealed.text), asked)
            }
            let bytes = Array(answer.utf8)
            guard let json = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 8, byteCount: 65_536)),
                let user = json["user"]?.string, let signed = json["time"]?.string
            else { throw PlayerError(.host, "the server's answer cannot be read: is it a Carrel server?") }
            let time: TrustedTime
            do throws(RightsError) {
                time = try await verified { trust throws(RightsError) in try TrustedTime(signed, keys: trust.keys) }
            } catch {
                throw PlayerError(.rejected, error.message)
            }
            guard time.nonce == sent.nonce, json["player"]?.string == (try await trust().player) else {
                throw PlayerError(.rejected, "the answer is not for this request")
            }
            try await take(time.instant, on: host)
            let link = PlayerLink(user: user, expiresAt: json["linkExpiresAt"]?.string.flatMap { Instant.parse($0) })
            try await licenses().setLink(isRegistration ? link : nil, of: user)
            return link
        }
    }

    /// The portals' users that this device was joined to.
    ///
    /// - Throws: `player.store`, `player.store-damaged`.
    public func links() async throws(PlayerError) -> [PlayerLink] { try await licenses().links() }

    /// Redeems the token of a stream at its rights location, with a proof of this device's key (RFC 9449).
    private func stream(_ url: CompoundURL) async throws(PlayerError) -> RedeemedLicense {
        try await transaction(.license) { () throws(PlayerError) in
            try await renewCertificate()
            await sendReleases()
            let (trust, vault, host) = (try await trust(), vault, host)
            let now = try await licenses().clock().read(on: host).instant
            let key = try await signingKey()
            let proof: DPoPProof.Made
            do {
                proof = try await DPoPProof.make(method: .post, url: url.rightsURL, token: url.token, signingKey: key, now: now) {
                    try await vault.sign($0, withKey: Self.signingKey)
                }
            } catch let error as VaultError {
                throw Self.failure(error)
            } catch {
                throw PlayerError(.vault, "the vault does not sign")
            }
            let answer = try await rights(url, proof.text, root: trust.root.der)
            let license: License
            do throws(RightsError) {
                license = try await verified { trust throws(RightsError) in try License(answer, keys: trust.keys) }
                guard license.player == trust.player, license.request == proof.digest, license.nonce == proof.id,
                    license.session != nil
                else { throw RightsError(.signature, "the license is not the answer to this request") }
            } catch {
                throw PlayerError(.rejected, error.message)
            }
            try await take(license.signedAt, on: host)
            try await hold(license)
            return RedeemedLicense(
                license: license.id,
                contentID: license.contentID,
                until: LicenseRecord(license).end,
                isStored: false
            )
        }
    }

    private func signingKey() async throws(PlayerError) -> P256.PublicKey {
        let key: P256.PublicKey?
        do throws(VaultError) {
            key = try await vault.publicKey(named: Self.signingKey)
        } catch {
            throw Self.failure(error)
        }
        guard let key else { throw PlayerError(.vault, "the vault has lost the player's keys") }
        return key
    }

    /// Calls a rights location, whose certificate must be issued by the service's own authority, or by one that the system
    /// trusts.
    private func rights(_ url: CompoundURL, _ proof: String, root: [UInt8]) async throws(PlayerError) -> String {
        do throws(PlayerError) {
            return try await rights(url, proof, under: root)
        } catch {
            guard error.isTLS else { throw error }
            // The service may have a new root, which the known one signed. Nothing was sent: the proof is not used yet.
            if let newer = await newerRoot(than: root) {
                do throws(PlayerError) {
                    return try await rights(url, proof, under: newer)
                } catch {
                    guard error.isTLS else { throw error }
                }
            }
            return try await server().post(url.rightsURL, proof: proof)
        }
    }

    private func rights(_ url: CompoundURL, _ proof: String, under root: [UInt8]) async throws(PlayerError) -> String {
        var configuration = HTTPClientConfiguration(trustedRoots: [root])
        configuration.acceptsAnyCertificateForTesting = properties.acceptsSelfSignedForTesting
        configuration.acceptsOtherHostsForTesting = properties.acceptsHostMismatchForTesting
        return try await server().with(HTTPClient(configuration: configuration)).post(url.rightsURL, proof: proof)
    }

    /// Fetches the service's current keys and returns its root; nil if the root is unchanged or not trusted.
    private func newerRoot(than root: [UInt8]) async -> [UInt8]? {
        do throws(PlayerError) {
            try await updateKeys()
            let newer = try await trust().root.der
            return newer == root ? nil : newer
        } catch {
            return nil
        }
    }

    private func configuration(_ place: ActionToken.Configuration) async throws(PlayerError) -> BroadbandConfiguration {
        let bytes = try await server().bytes(at: place.location, atMost: BroadbandConfiguration.maxByteCount)
        let configuration: BroadbandConfiguration
        do throws(RightsError) {
            configuration = try BroadbandConfiguration(parsing: bytes.rawSpan)
        } catch {
            throw PlayerError(.rejected, "the server's answer is not the configuration of a license service: \(error.message)")
        }
        guard configuration.serviceID == place.serviceID else {
            throw PlayerError(.rejected, "the configuration is of another service than the token's")
        }
        return configuration
    }
}
