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

/// Links this player to an account; `show` presents the letters and the address where the reader types them. Returns the account's name.
func link(_ engine: PlayerEngine, show: @escaping @Sendable (_ letters: String, _ address: String) -> Void) async throws -> String
{
    try await engine.link { code in show(code.letters, code.address) }.account
}

/// Certifies a player without a network: `carry` takes the request to the server's staff and returns their bundle. Returns the root's
/// fingerprint, which the user compares with the one that the staff sees.
func certifyOffline(_ engine: PlayerEngine, carry: (_ request: String) async throws -> [UInt8]) async throws -> String {
    let bundle = try await carry(try await engine.offlineRequest())
    return try await engine.insert(bundle: bundle).rootFingerprint
}

/// The stored licenses as lines of a list: the content, and the number of plays.
func licenseList(of engine: PlayerEngine) async throws -> [String] {
    try await engine.licenses().licenses().map { license in
        "\(license.contentIDs.joined(separator: ", ")): \(license.plays) plays"
    }
}

/// Returns a license to the service, and removes the licenses that have expired. Returns whether the service has been notified.
func giveBack(_ license: StoredLicense, with engine: PlayerEngine) async throws -> Bool {
    let isNotified = try await engine.release(license.id)
    _ = try await engine.expungeExpiredLicenses()
    return isNotified
}
