// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelVault

extension PlayerEngine {
    /// A code that a signed-in reader types to link this player to their account.
    public struct LinkCode: Sendable, Equatable {
        /// The letters, `XXXX-XXXX`.
        public let letters: String
        /// The page to type them on.
        public let address: String
        /// The same page with the letters in its address, for a QR code.
        public let completeAddress: String
        /// When the code ends, by the device's clock.
        public let expiresAt: Instant
    }

    /// The player's link to an account.
    public struct Link: Sendable, Equatable {
        /// The name of the account.
        public let account: String
        /// When the link ends, unless the certificate is renewed.
        public let expiresAt: Instant?
    }

    private static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    /// Links this player to the account of a reader who enters a code (RFC 8628), and waits for the reader's decision.
    ///
    /// - Parameter show: shows the code; called once.
    /// - Returns: the link.
    /// - Throws: ``PlayerError``: `player.link` if the reader refused or the code was not typed in time, `player.device-limit`,
    ///   `player.not-personalized` before personalization.
    public func link(show: @Sendable (LinkCode) -> Void) async throws(PlayerError) -> Link {
        guard let state, let answer = state.answer else {
            throw PlayerError(.notPersonalized, "this player is not personalised, so that it cannot be linked")
        }
        guard !state.server.isEmpty else {
            throw PlayerError(.server, "the server's address is not known: personalise once while there is a network")
        }
        try requireOriginal(state)
        let calls = try PlayerServer(state.server, client: client, timeouts: timeouts, listener: listener)
        listener?(.began(.link))
        do throws(PlayerError) {
            let link = try await run(calls, answer, show)
            listener?(.ended(.link, nil))
            return link
        } catch {
            listener?(.ended(.link, error))
            throw error
        }
    }

    private func run(
        _ calls: PlayerServer,
        _ answer: PersonalizationResponse,
        _ show: @Sendable (LinkCode) -> Void
    ) async throws(PlayerError) -> Link {
        func step(_ name: String, _ done: Int) { listener?(.progress(.link, step: name, done: done, total: 3)) }
        let challenge = try await calls.post("/v1/personalize/challenge", type: nil, "")
        guard let nonce = challenge["nonce"]?.string, let environment = challenge["environment"]?.string else {
            throw PlayerError(.host, "the server's answer has no nonce: is it a Carrel server?")
        }
        let text = try await linkRequest(LinkRequest(environment: environment, nonce: nonce, clock: clock.now), answer)
        let json = try await calls.post("/v1/device/code", type: "application/jose", text)
        let (code, secret, interval) = try read(json)
        step("code", 1)
        show(code)
        step("waiting", 2)
        let link = try await wait(calls, secret, interval, until: .now + (code.expiresAt - clock.now))
        step("linked", 3)
        return link
    }

    private func linkRequest(_ request: LinkRequest, _ answer: PersonalizationResponse) async throws(PlayerError) -> String {
        let vault = vault
        do {
            let thumbprint = try Certificate(der: answer.certificate).thumbprint
            return try await request.signed(certificate: thumbprint) { try await vault.sign($0, withKey: Self.signingKey) }
        } catch let error as VaultError {
            throw Self.failure(error)
        } catch {
            throw PlayerError(.vault, "the vault does not sign")
        }
    }

    /// The codes of a response, limited to letters and an address, because a terminal or a page shows them.
    private func read(_ json: JSON) throws(PlayerError) -> (code: LinkCode, secret: String, interval: Duration) {
        func address(_ name: String) -> String? {
            json[name]?.string.flatMap { text in
                let isWeb = text.hasPrefix("https://") || text.hasPrefix("http://")
                return isWeb && text.utf8.count <= 512 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) } ? text : nil
            }
        }
        guard let secret = json["device_code"]?.string, secret.utf8.count <= 256, let letters = json["user_code"]?.string,
            letters.utf8.count <= 32,
            letters.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || $0 == 0x2d }),
            let place = address("verification_uri"), let complete = address("verification_uri_complete"),
            let life = json["expires_in"]?.int, 1...3600 ~= life, let interval = json["interval"]?.int, 1...60 ~= interval
        else { throw PlayerError(.host, "the server's answer has no code: is it a Carrel server?") }
        let code = LinkCode(letters: letters, address: place, completeAddress: complete, expiresAt: clock.now + .seconds(life))
        return (code, secret, .seconds(interval))
    }

    private func wait(
        _ calls: PlayerServer,
        _ secret: String,
        _ first: Duration,
        until end: ContinuousClock.Instant
    ) async throws(PlayerError) -> Link {
        var interval = first
        let form = "grant_type=\(PercentEncoding.encode(Self.grantType))&device_code=\(PercentEncoding.encode(secret))"
        while ContinuousClock.now < end {
            do {
                try await Task.sleep(for: interval)
            } catch {
                throw PlayerError(.network, "the wait for the code was cancelled")
            }
            do throws(PlayerError) {
                let json = try await calls.post("/v1/device/token", type: "application/x-www-form-urlencoded", form)
                guard let account = json["account"]?.string else {
                    throw PlayerError(.host, "the server's answer names no account")
                }
                return Link(account: account, expiresAt: json["linkExpiresAt"]?.string.flatMap { Instant.parse($0) })
            } catch {
                switch error.serverCode {
                case "link.pending": continue
                case "link.slow-down": interval += .seconds(5)
                case "link.denied", "link.expired", "link.unknown":
                    throw PlayerError(.link, error.message, serverCode: error.serverCode)
                default:
                    // The network may come back before the code ends.
                    guard error.isRetryable else { throw error }
                    interval = min(interval * 2, .seconds(60))
                }
            }
        }
        throw PlayerError(.link, "the code was not typed in time", serverCode: "link.expired")
    }
}
