// SPDX-License-Identifier: Apache-2.0

import CarrelRights
import CarrelPlayer
import CarrelVault

/// The vault in a folder; the first start makes it.
func openVault(in folder: String, passphrase: String, isFirstStart: Bool) async throws -> Vault {
    try await Vault.file(folder: "\(folder)/vault", passphrase: passphrase, create: isFirstStart)
}

/// The player of this installation, certified by a server once.
func player(in folder: String, vault: Vault, server: String) async throws -> PlayerEngine.Identity {
    let engine = try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Reader", build: "1.0"))
    return try await engine.personalize(server: server)
}

/// Redeems a token, and begins to play what its license is for. Returns a message for the user where that is not allowed.
func play(_ token: String, with engine: PlayerEngine) async throws -> (session: LicenseSession?, message: String?) {
    do throws(PlayerError) {
        let redeemed = try await engine.process(token)
        return (try await engine.begin(redeemed.contentID), nil)
    } catch {
        guard error.isRetryable || error.reason != nil || error.code == .token else { throw error }
        return (nil, "\(error.message): \(error.recommendation)")
    }
}

/// Whether a title may be played now, and until when, as words for a list of titles.
func standing(of contentID: String, with engine: PlayerEngine) async throws -> String {
    let result = try await engine.check(contentID).result
    if let reason = result.reason { return reason.rawValue }
    return result.until.map { "until \($0)" } ?? "without an end"
}
