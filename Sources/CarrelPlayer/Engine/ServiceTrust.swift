import CarrelBytes
import CarrelCrypto
import CarrelRights

/// The part of a player's file that was verified once: the service's keys, the player's certificate, and the list of revocations.
struct ServiceTrust: Sendable {
    let player: String
    let root: Certificate
    let keys: ServiceKeys
    let certificate: Certificate
    let revocations: Revocations?

    /// - Throws: `player.store` for a file that does not lead to its own root.
    init(_ answer: PersonalizationResponse) throws(PlayerError) {
        player = answer.player
        do throws(RightsError) {
            (root, keys) = try answer.trust.verified(from: nil)
            revocations = try? Revocations(answer.revocations, keys: keys)
        } catch {
            throw PlayerError(.store, "the player's file was altered: \(error.message)")
        }
        do throws(CryptoError) {
            certificate = try Certificate(der: answer.certificate)
        } catch {
            throw PlayerError(.store, "the player's certificate cannot be read")
        }
    }

    /// The serial number of the player's certificate, as lists of revocations write it.
    var serial: String { Hex.encode(certificate.serial) }
}
