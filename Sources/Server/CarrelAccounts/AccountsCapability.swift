// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
package import CarrelHTTP
package import CarrelHome
import CarrelPasswords
package import CarrelJSON
import CarrelMetrics
package import CarrelPasswordHash
package import CarrelStore
import CarrelThrottling
package import CarrelWebAPI

/// Accounts, staff, sessions, devices and permissions.
package struct AccountsCapability: Capability {
    package let lifecycle = AccountLifecycle()
    package let accounts: Accounts
    package let desk: AccountAdministration
    package let devices: Devices
    package let appPasswords: AppPasswords
    package let staff: Staff
    package let check: PasswordCheck
    package let callers: RequestAuthenticator
    private let activity: Activity
    private let settings: Settings

    /// The operator's settings of accounts.
    package struct Settings: Sendable {
        /// Maximum sign-in attempts per minute and network; at least 1.
        package var signInNetworkLimit = SignInThrottle.usualNetworkLimit
        /// The cost of hashing a password.
        package var passwordCost = Argon2id.Parameters.standard
        /// The account that visitors without a session read as; nil means that they have to sign in.
        package var guestAccount: String?
        /// Whether a loopback address proves that a client is on this machine.
        package var trustsLoopback = true
        /// Whether the canned users exist, which the administrators' page has a console for.
        package var hasCannedUsers = false
        /// The label of the button for the OpenID provider; nil without a provider.
        package var signOnLabel: String?

        package init() {}
    }

    package init(_ context: ServiceContext, _ settings: Settings, audit: AuditFold) throws {
        let (database, clock) = (context.database, context.clock)
        self.settings = settings
        activity = context.activity
        lifecycle.join(LastOwner())
        let sessions = Sessions(
            database: database,
            clock: clock,
            lifecycle: lifecycle,
            renewalSecret: try context.secret(.renewal)
        )
        accounts = Accounts(database: database, clock: clock, sessions: sessions)
        let passwords = PasswordHashing(settings.passwordCost)
        desk = AccountAdministration(database: database, clock: clock, passwords: passwords, lifecycle: lifecycle)
        devices = Devices(database: database, clock: clock, lifecycle: lifecycle)
        appPasswords = AppPasswords(database: database, clock: clock)
        let throttle = SignInThrottle(
            database: database,
            clock: clock,
            audit: audit,
            secret: try context.secret(.throttle),
            networkLimit: settings.signInNetworkLimit
        )
        check = PasswordCheck(database: database, clock: clock, passwords: passwords, throttle: throttle)
        staff = Staff(database: database, clock: clock, passwords: passwords, check: check, lifecycle: lifecycle, audit: audit)
        callers = RequestAuthenticator(
            accounts: accounts,
            appPasswords: appPasswords,
            staff: staff,
            guestAccount: settings.guestAccount,
            trustsLoopback: settings.trustsLoopback
        )
    }

    package static let tables: [String: PersonalData.Treatment] = [
        "accounts": .kept(
            exportedAs: "account",
            because: "orders and the audit log refer to it; the name is replaced with a random one, the password is deleted"
        ),
        "devices": .deleted(exportedAs: "devices"),
        "sessions": .deleted(exportedAs: "sessions"),
        "app_passwords": .deleted(exportedAs: "appPasswords"),
        "throttle": .nothing("keyed hashes of names, networks and devices, which cannot be reversed; deleted after 90 days"),
        "sign_in_networks": .nothing(
            "keyed hashes of names, networks and devices, which cannot be reversed; deleted after 90 days"
        ),
        "setup_links": .nothing("links for the first administrator, before there is one; deleted after an hour"),
        "service_keys": .nothing("keys of programs; an operator should not name one after a person"),
        "revocations": .nothing("ids of accounts and products, and when their credentials were revoked"),
        "credential_serial": .nothing("a number"),
    ]
    package static let statements =
        AccountStore.statements + SessionStore.statements + DeviceStore.statements + AppPasswordStore.statements
        + StaffStore.statements + ThrottleStore.statements + RevocationStore.statements + CarriedDevices.statements
    package static let carriedTables = [CarriedDevices.table]

    package func addRoutes(to router: inout Router) {
        AccountRoutes(accounts: accounts, desk: desk, devices: devices, appPasswords: appPasswords, callers: callers)
            .add(to: &router)
        KeyRoutes(accounts: accounts, callers: callers).add(to: &router)
        StaffRoutes(
            staff: staff,
            desk: desk,
            callers: callers,
            activity: activity,
            hasCannedUsers: settings.hasCannedUsers,
            signOnLabel: settings.signOnLabel
        ).add(to: &router)
        ThrottleRoutes(throttle: check.throttle, accounts: accounts, callers: callers).add(to: &router)
    }

    package var cleanups: [Cleanup] { Self.cleanups() }

    /// Counters of each kind that are kept at most, however many clients guess.
    private static let counterLimit = 100_000

    /// The cleanups of sessions, links and counters past their time.
    ///
    /// - Parameter counterLimit: counters of each kind that are kept.
    /// - Returns: one for each kind of row.
    package static func cleanups(counterLimit: Int = Self.counterLimit) -> [Cleanup] {
        [
            Cleanup { try SessionStore.deleteExpired(at: $0, limit: $1, in: $2) },
            Cleanup { try ThrottleStore.removeExpired(at: $0, limit: $1, in: $2) },
            Cleanup { try ThrottleStore.removeNetworks(before: $0 - SignInThrottle.successMemory, limit: $1, in: $2) },
            Cleanup { try StaffStore.removeOldLinks(at: $0, limit: $1, in: $2) },
            Cleanup(
                isDue: { try ThrottleStore.counts(in: $0).values.contains { $0 > counterLimit } },
                remove: { _, limit, transaction in
                    var left = limit
                    for (kind, count) in try ThrottleStore.counts(in: transaction) where left > 0 && count > counterLimit {
                        left -= try ThrottleStore.removeFirst(min(left, count - counterLimit), of: kind, in: transaction)
                    }
                    return limit - left
                }
            ),
        ]
    }

    package var personalData: [PersonalData.Member] {
        [
            PersonalData.Member("devices", holdsSubjects: true) {
                try DeviceStore.devices(of: $0.account, in: $1).map(AccountRoutes.json)
            },
            PersonalData.Member("sessions", holdsSubjects: true) { try AccountStore.exportedSessions(of: $0.account, in: $1) },
            PersonalData.Member("appPasswords") {
                try AppPasswordStore.passwords(of: $0.account, in: $1).map { .object(AccountRoutes.json($0)) }
            },
        ]
    }

    package func health(at now: Instant, within limit: Duration) async -> JSONObject {
        ["queues": ["passwords": .integer(desk.passwords.waiting)]]
    }
}
