import CarrelBytes
import CarrelCrypto
import CarrelStore

/// Slows down whoever guesses passwords, without locking out the owner.
///
/// Three counters: of an account from one network, of an account from everywhere, and of a network over all accounts. An attempt
/// is counted before the password is looked at, so that many at once are many. The same wrong password again does not count:
/// apps retry. A device or a network from which the account has signed in before passes by the account's own counter.
struct SignInThrottle: Sendable {
    let database: any Database
    let clock: any WallClock
    private let fingerprint: HMACSHA256

    /// What is stored of names, addresses and passwords is their HMAC under the secret, of 32 bytes.
    init(database: any Database, clock: any WallClock, secret: Secret) {
        self.database = database
        self.clock = clock
        fingerprint = HMACSHA256(key: secret)
    }

    /// One attempt to sign in.
    struct Attempt: Sendable {
        let accountName: String
        let address: String
        let password: String
        /// Whether the account has signed in from this very device.
        let isKnownDevice: Bool
    }

    /// How many attempts are free, and what each further one costs.
    struct Rule: Sendable {
        let free: Int64
        /// The wait after the first that is not free; it doubles with each.
        let step: Duration
        let longest: Duration

        func wait(after failures: Int64) -> Duration {
            guard failures >= free else { return .zero }
            return min(longest, step * (1 << min(failures - free, 20)))
        }
    }

    static let ofAccountAndNetwork = Rule(free: 5, step: .seconds(1), longest: .seconds(15 * 60))
    static let ofAccount = Rule(free: 20, step: .seconds(1), longest: .seconds(15 * 60))
    /// Many readers may share a network: it is only slowed down, to thirty attempts a minute.
    static let ofNetwork = Rule(free: 30, step: .seconds(2), longest: .seconds(2))
    /// Counters are forgotten when nothing happened for so long; a network's, a minute after its last attempt.
    static let memory = Duration.seconds(24 * 3600)
    /// So long a network counts as one from which the account signs in.
    static let successMemory = Duration.seconds(90 * 24 * 3600)
    static let networkMemory = Duration.seconds(60)

    /// Counts an attempt.
    ///
    /// - Returns: how long to wait before it may be made; nil when it may be made now.
    func begin(_ attempt: Attempt) async throws -> Duration? {
        let (keys, now) = (keys(of: attempt), clock.now)
        return try await database.write { transaction in
            try ThrottleStore.removeOld(successes: now - Self.successMemory, failures: now - Self.memory, in: transaction)
            let isKnown =
                try attempt.isKnownDevice
                || ThrottleStore.counter(keys.success, in: transaction).map { now - $0.updatedAt < Self.successMemory }
                    ?? false
            var checks: [(key: [UInt8], rule: Rule, memory: Duration)] = [
                (keys.accountAndNetwork, Self.ofAccountAndNetwork, Self.memory),
                (keys.network, Self.ofNetwork, Self.networkMemory),
            ]
            if !isKnown { checks.append((keys.account, Self.ofAccount, Self.memory)) }
            var counters: [(key: [UInt8], rule: Rule, counter: ThrottleStore.Counter)] = []
            for check in checks {
                var counter = try ThrottleStore.counter(check.key, in: transaction) ?? ThrottleStore.Counter()
                if now - counter.updatedAt >= check.memory { counter = ThrottleStore.Counter() }
                if counter.until > now { return counter.until - now }
                counters.append((check.key, check.rule, counter))
            }
            for (key, rule, known) in counters {
                var counter = known
                if counter.remembers(keys.password) { continue }
                counter.failures += 1
                counter.remember(keys.password)
                counter.updatedAt = now
                counter.until = now + rule.wait(after: counter.failures)
                try ThrottleStore.set(counter, for: key, in: transaction)
            }
            return nil
        }
    }

    /// Forgets the attempts of an account from a network, as the right password was given.
    func succeeded(_ attempt: Attempt) async throws {
        let (keys, now) = (keys(of: attempt), clock.now)
        try await database.write { transaction in
            try ThrottleStore.remove(keys.accountAndNetwork, in: transaction)
            try ThrottleStore.remove(keys.account, in: transaction)
            var success = ThrottleStore.Counter()
            success.updatedAt = now
            try ThrottleStore.set(success, for: keys.success, in: transaction)
        }
    }

    private struct Keys: Sendable {
        let accountAndNetwork: [UInt8]
        let account: [UInt8]
        let network: [UInt8]
        let success: [UInt8]
        let password: [UInt8]
    }

    private func keys(of attempt: Attempt) -> Keys {
        let network = Self.network(of: attempt.address)
        func key(_ parts: String...) -> [UInt8] {
            var message: [UInt8] = []
            for part in parts { message += "\(part.utf8.count):\(part)".utf8 }
            return Array(fingerprint.authenticate(message.rawSpan).prefix(16))
        }
        return Keys(
            accountAndNetwork: key("account-network", attempt.accountName, network),
            account: key("account", attempt.accountName),
            network: key("network", network),
            success: key("success", attempt.accountName, network),
            password: Array(key("password", attempt.accountName, attempt.password).prefix(8))
        )
    }

    /// The /64 of an IPv6 address, and an IPv4 address as it is.
    static func network(of address: String) -> String {
        guard address.contains(":"), !address.hasPrefix("::ffff:") else { return address }
        let head = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)[0].split(separator: ":")
        return (head.prefix(4) + Array(repeating: "0", count: max(0, 4 - head.count))).joined(separator: ":")
    }
}
