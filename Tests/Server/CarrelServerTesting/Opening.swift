// SPDX-License-Identifier: Apache-2.0

package import CarrelEditionDelivery
package import CarrelServer

/// The result of presenting a pair.
package enum Opening: Equatable {
    case opens, invalid, expired, revoked, failed
}

extension TestService {
    /// Presents a pair for a product, as a download does: what was found genuine before is remembered.
    package func opening(_ pair: EditionCredentials.Pair, _ product: String, at service: CarrelService? = nil) async -> Opening {
        do {
            let (keyring, field) = ((service ?? self.service).credentials, "Basic \(pair.userID):\(pair.password)")
            if keyring.opens(field, product: product) { return .opens }
            try await keyring.verify(pair, product: product, from: field)
            return .opens
        } catch EditionCredentials.Refusal.invalid {
            return .invalid
        } catch EditionCredentials.Refusal.expired {
            return .expired
        } catch EditionCredentials.Refusal.revoked {
            return .revoked
        } catch {
            return .failed
        }
    }
}
