import CarrelBytes
import CarrelCrypto
import CarrelRights

/// The part of a player's file that was verified once: the service's keys, the player's certificate, and the list of revocations.
struct ServiceTrust: Sendable {
    let player: String
    let root: Certificate
    let keys: ServiceKeys
    let certificate: Certificate
    let revocations: Revocations

    /// - Parameters:
    ///   - answer: of the player's file.
    ///   - anchor: the newest trust that is known; nil before the first.
    /// - Throws: `player.store` for a file that does not lead to its own root, or to another one than the anchor, or that is older than it.
    init(_ answer: PersonalizationResponse, anchor: TrustAnchor?) throws(PlayerError) {
        player = answer.player
        do throws(RightsError) {
            (root, keys) = try answer.trust.verified(from: anchor?.root, notBefore: anchor?.keys ?? 0)
            revocations = try Revocations(answer.revocations, keys: keys)
            guard revocations.number >= anchor?.revocations ?? 0 else {
                throw RightsError(.signature, "its list of revocations is older than one that was here")
            }
        } catch {
            throw PlayerError(.store, "the player's file was altered: \(error.message)")
        }
        do throws(CryptoError) {
            certificate = try Certificate(der: answer.certificate)
        } catch {
            throw PlayerError(.store, "the player's certificate cannot be read")
        }
    }

    /// The part that the store remembers.
    var anchor: TrustAnchor { TrustAnchor(root: root.der, keys: keys.number, revocations: revocations.number) }

    /// The serial number of the player's certificate, as lists of revocations write it.
    var serial: String { Hex.encode(certificate.serial) }
}
