import CarrelReader
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
