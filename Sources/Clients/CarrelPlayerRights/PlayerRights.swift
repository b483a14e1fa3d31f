// SPDX-License-Identifier: Apache-2.0

import CarrelLicenseKeys
public import CarrelMedia
public import CarrelPlayer
public import CarrelProxy

/// Redeems the tokens of MS3 addresses with a player, whose license controls every key.
///
/// ```swift
/// let session = try proxy.makeURL("ms3://rights.example/hms/ms3/rights/?b=…#…", .dash, rights: PlayerRights(engine))
/// ```
public struct PlayerRights: RightsSource {
    private let engine: PlayerEngine

    /// Creates a source of rights.
    ///
    /// - Parameter engine: the personalized player.
    public init(_ engine: PlayerEngine) {
        self.engine = engine
    }

    /// Redeems the token of an address, and counts a play under its license.
    ///
    /// - Parameters:
    ///   - url: the address with the token.
    ///   - client: unused: the player sends its own requests, with a proof of its key.
    /// - Returns: the rights, whose end follows the license; or the reason for their absence.
    public func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer {
        do throws(PlayerError) {
            let redeemed = try await engine.process(url.text)
            let keys = LicenseKeys(engine, content: redeemed.contentID)
            let use: LicenseUse
            do throws(PlayerError) {
                guard let found = try await keys.license(of: redeemed.contentID) else {
                    await engine.endUnused(redeemed.license)
                    return .refused("the license of the token is not here")
                }
                try await found.begin()
                use = found
            } catch {
                await keys.end()
                await engine.endUnused(redeemed.license)
                throw error
            }
            let extensions = use.relaxesOutput ? [StreamRights.Extension.openOutput] : []
            return .granted(StreamRights(keys: keys, extensions: extensions, end: use.end) { await keys.end() })
        } catch {
            return error.isRetryable ? .unavailable(error.message) : .refused(error.message)
        }
    }
}
