import CarrelBytes
import CarrelHTTPClient
import CarrelRights

extension PlayerEngine {
    /// Redeems a token: a license message or an action token for the store, a compound URL for a stream that plays now.
    ///
    /// It can be called again after any failure, or when the process was killed: the same token gives the same license to this device.
    ///
    /// - Parameters:
    ///   - text: a compound URL, an action token (XML) or a license message (JWT).
    ///   - tag: the app's own text for the license, at most 255 bytes.
    ///   - priority: of several licenses for one content, the greatest is used.
    /// - Returns: the license.
    /// - Throws: ``PlayerError``: `player.token` for other text, and for a token that the service refuses.
    @discardableResult
    public func process(_ text: String, tag: String = "", priority: Int = 0) async throws(PlayerError) -> RedeemedLicense {
        let token = try ServiceToken(text)
        _ = try trust()
        switch token.content {
        case .message(let message):
            return try await redeemForStore(message, at: nil, tag: tag, priority: priority)
        case .action(let action):
            let configuration = try await configuration(action.configuration)
            let text = Base64URL.encode(action.businessToken)
            switch action.operation {
            case .licenseAcquisition:
                let url = configuration.licenseAcquisition
                return try await redeemForStore(text, at: url, tag: tag, priority: priority)
            case .registration, .deregistration:
                throw PlayerError(.token, "tokens of registration are not redeemed yet")
            }
        case .url(let url):
            return try await stream(url)
        }
    }

    /// A license for the store; where the token is for a stream, a stream's.
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

    private func stream(_ url: CompoundURL) async throws(PlayerError) -> RedeemedLicense {
        throw PlayerError(.token, "compound URLs are not redeemed yet")
    }

    private func configuration(_ place: ActionToken.Configuration) async throws(PlayerError) -> BroadbandConfiguration {
        let bytes = try await server().bytes(at: place.location, atMost: BroadbandConfiguration.maxByteCount)
        let configuration: BroadbandConfiguration
        do throws(RightsError) {
            configuration = try BroadbandConfiguration(parsing: bytes.rawSpan)
        } catch {
            throw PlayerError(.rejected, error.message)
        }
        guard configuration.serviceID == place.serviceID else {
            throw PlayerError(.rejected, "the configuration is of another service than the token's")
        }
        return configuration
    }
}
