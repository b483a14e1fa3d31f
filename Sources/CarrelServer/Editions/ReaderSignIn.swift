import CarrelBytes
import CarrelCrypto
import CarrelStore
import CarrelThreads

/// Names and passwords that come with every request, as readers of feeds send them.
///
/// The first time costs what a sign-in costs, and is throttled as one. After that the same pair is known for ten minutes, as long
/// as the account's password is the one that it was.
final class ReaderSignIn: Sendable {
    private struct Known: Sendable {
        let passwordHash: String
        let until: Instant
    }

    private let database: any Database
    private let clock: any WallClock
    private let passwords: PasswordHashing
    private let throttle: SignInThrottle
    /// Under a key of this process: what is remembered is nobody's password.
    private let fingerprint = HMACSHA256(key: Secret.random(count: 32))
    private let known = Locked(RecentlyUsed<[UInt8], Known>(limit: 10_000))

    private static let memory = Duration.seconds(600)

    init(database: any Database, clock: any WallClock, passwords: PasswordHashing, throttle: SignInThrottle) {
        self.database = database
        self.clock = clock
        self.passwords = passwords
        self.throttle = throttle
    }

    /// The account that a name and a password sign in; nil when they do not, or came too often.
    func account(_ pair: EditionCredentials.Pair, from address: String) async throws -> Account? {
        let key = fingerprint.authenticate(Array("\(pair.userID.utf8.count):\(pair.userID):\(pair.password)".utf8).rawSpan)
        let now = clock.now
        let name = try? Accounts.checkedName(pair.userID)
        let record = try name.flatMap { name in try database.readNow { try AccountStore.signInRecord(named: name, in: $0) } }
        if let known = known.withLock({ $0[key] }), let record, known.passwordHash == record.password, now < known.until {
            return record.account
        }
        let attempt = SignInThrottle.Attempt(
            accountName: pair.userID,
            address: address,
            password: pair.password,
            isKnownDevice: false
        )
        guard try await throttle.begin(attempt) == nil else { return nil }
        // Hashed in any case, so that time tells nothing about who has an account.
        let verdict = try await passwords.verify(pair.password, against: record?.password)
        guard let record, verdict.isRight, let hash = record.password else { return nil }
        try await throttle.succeeded(attempt)
        known.withLock { $0.insert(Known(passwordHash: hash, until: now + Self.memory), for: key, cost: 1) }
        return record.account
    }
}
