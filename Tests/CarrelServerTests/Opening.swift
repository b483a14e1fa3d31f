import CarrelServer

/// What comes of presenting a pair.
enum Opening: Equatable {
    case opens, invalid, expired, revoked, failed
}

extension TestService {
    /// Presents a pair for a product, as a download does.
    func opening(_ pair: EditionCredentials.Pair, _ product: String, at service: CarrelService? = nil) async -> Opening {
        do {
            try await (service ?? self.service).credentials.verify(pair, product: product)
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
