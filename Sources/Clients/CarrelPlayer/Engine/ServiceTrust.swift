// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
package import CarrelRights

/// The part of a player's file that was verified once: the service's keys, the player's certificate, and the list of revocations.
package struct ServiceTrust: Sendable {
    let player: String
    let root: Certificate
    let keys: ServiceKeys
    let certificate: Certificate
    let revocations: Revocations

    /// - Parameters:
    ///   - answer: the response in the player's file.
    ///   - anchor: the newest known trust; nil before the first.
    /// - Throws: `player.store` for a file that does not chain to its own root; `player.outdated` for a file that chains to
    ///   another root than the anchor, or is older than it.
    init(_ answer: PersonalizationResponse, anchor: TrustAnchor?) throws(PlayerError) {
        player = answer.player
        do throws(RightsError) {
            (root, keys) = try answer.trust.verified(from: nil)
            revocations = try Revocations(answer.revocations, keys: keys)
        } catch {
            throw PlayerError(.store, "the player's file was altered: \(error.message)")
        }
        if let anchor {
            do throws(RightsError) {
                _ = try answer.trust.verified(from: anchor.root, notBefore: anchor.keys)
                guard revocations.number >= anchor.revocations else {
                    throw RightsError(.signature, "its list of revocations is older than one that was here")
                }
            } catch {
                let problem = "the player's file is older than the license store, or was altered"
                throw PlayerError(.outdated, "\(problem): \(error.message)")
            }
        }
        do throws(CryptoError) {
            certificate = try Certificate(der: answer.certificate)
        } catch {
            throw PlayerError(.store, "the player's certificate cannot be read")
        }
    }

    /// Merges two responses: the newer keys and revocation list, if they belong together.
    ///
    /// - Parameters:
    ///   - answer: the new response, verified.
    ///   - known: the response on the disk.
    /// - Returns: the response to store.
    package static func newest(_ answer: PersonalizationResponse, _ known: PersonalizationResponse?) -> PersonalizationResponse {
        guard let known, let old = try? ServiceTrust(known, anchor: nil) else { return answer }
        var merged = answer
        let own = try? ServiceTrust(answer, anchor: nil)
        if let keys = try? answer.trust.verified(from: nil).keys, old.keys.number > keys.number { merged.trust = known.trust }
        if own == nil || old.revocations.number > own?.revocations.number ?? 0 { merged.revocations = known.revocations }
        let candidates = [merged, answer]
        return candidates.first { (try? ServiceTrust($0, anchor: nil)) != nil } ?? known
    }

    /// The part that the store remembers.
    var anchor: TrustAnchor { TrustAnchor(root: root.der, keys: keys.number, revocations: revocations.number) }

    /// Whether this player is revoked for good.
    var isRevoked: Bool { revocations.players.contains(player) }

    /// The serial number of the player's certificate, as lists of revocations write it.
    var serial: String { Hex.encode(certificate.serial) }
}
