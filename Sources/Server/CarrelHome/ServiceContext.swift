// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelMetrics
package import CarrelStore

/// The foundation of every capability: the home, its database and keys, the clock and the metrics.
package struct ServiceContext: Sendable {
    package let home: Home
    package let database: any Database
    package let clock: any WallClock
    package let master: MasterKeyring.Shared
    package let metrics: MetricsRegistry
    package let activity: Activity
    package let expunging: Expunging
    private let secrets: [SecretStore.Purpose: Secret]

    /// Checks the home's keys against the database, and makes the server's own secrets that are missing.
    ///
    /// - Throws: ``ServerError`` `masterKey`; what the database throws.
    package init(
        home: Home,
        database: any Database,
        clock: any WallClock = SystemClock(),
        metrics: MetricsRegistry = MetricsRegistry()
    ) async throws {
        self.home = home
        self.database = database
        self.clock = clock
        self.metrics = metrics
        let keyring = try await MasterKeyring(of: home).settled(in: database, at: clock.now)
        master = MasterKeyring.Shared(of: home, keyring)
        activity = Activity(clock: clock)
        expunging = Expunging(database)
        secrets = try await SecretStore.ownSecrets(master, in: database)
    }

    /// The server's own secret for a purpose.
    ///
    /// - Throws: ``ServerError`` `masterKey` if the database lacks it.
    package func secret(_ purpose: SecretStore.Purpose) throws(ServerError) -> Secret {
        guard let secret = secrets[purpose] else {
            throw ServerError(.masterKey, "the secret '\(purpose.rawValue)' is missing from the database")
        }
        return secret
    }
}
