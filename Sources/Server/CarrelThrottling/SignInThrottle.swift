// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
package import CarrelCrypto
import CarrelMetrics
package import CarrelStore
import CarrelThreads

/// Throttling of password guessing that does not lock out the owner.
///
/// Three counters are kept: of an account from one network, of an account from everywhere, and of a network over all accounts. An
/// attempt is counted before the password is verified, so that concurrent attempts all count. The same wrong password again does
/// not count against the account, as apps retry, but against the network. A network from which the account has signed in before
/// bypasses the account's own counter. IPv6 networks also count towards the larger networks that contain them. Attempts that are
/// answered without verification have a separate limiter, so that an app with an old password uses up no other client's attempts;
/// both are counted in the memory of this process.
///
/// A device that the account has signed in on before has its own counter, and while that lets it pass, no other counter makes it
/// wait: guessing on another device, in a library's network, does not lock it out. Every attempt on it counts there, also with
/// the same password, and at no other counter. Its id is not secret. Knowing it gives an attacker the guesses of one more
/// counter, the same few from any network, and none for another account; using them up makes the device unknown, so that the
/// other three counters limit it like any other, without locking it out.
package struct SignInThrottle: Sendable {
    let database: any Database
    let clock: any WallClock
    private let audit: AuditFold
    private let fingerprint: HMACSHA256
    /// Many readers may share a network: it is only limited, to a number of attempts per minute.
    private let ofNetwork: Rule
    private let sites: TokenBucketLimiter
    private let providers: TokenBucketLimiter
    private let repeats: TokenBucketLimiter
    /// When a refusal by a counter was last recorded in the audit log.
    private let noted = Locked(LRUCache<[UInt8], Instant>(limit: 4096))

    /// - Parameters:
    ///   - database: the database of the counters.
    ///   - clock: the time.
    ///   - audit: the log of refusals.
    ///   - secret: the key of 32 bytes for the HMACs of names, addresses and passwords, which are stored instead of them.
    ///   - networkLimit: the limit of attempts per minute from one network, over all accounts; at least 1.
    package init(
        database: any Database,
        clock: any WallClock,
        audit: AuditFold,
        secret: Secret,
        networkLimit: Int = Self.usualNetworkLimit
    ) {
        self.database = database
        self.clock = clock
        self.audit = audit
        fingerprint = HMACSHA256(key: secret)
        let step = Duration.seconds(60) / networkLimit
        ofNetwork = Rule(free: Int64(networkLimit), step: step, longest: step)
        sites = TokenBucketLimiter(perMinute: networkLimit * Self.networksOfSite)
        providers = TokenBucketLimiter(perMinute: networkLimit * Self.networksOfProvider)
        repeats = TokenBucketLimiter(perMinute: networkLimit * Self.repeatsOfAttempt)
    }

    /// A sign-in attempt.
    package struct Attempt: Sendable {
        let accountName: String
        let address: String
        let password: String
        /// The device's key, if the account has signed in on this device before.
        let knownDevice: [UInt8]?
        let requestID: String
        /// The audit action of a refusal, …
        var action = "session.start"
        /// … and its subject: an account's id; empty without an account.
        var subject = ""

        package init(
            accountName: String,
            address: String,
            password: String,
            knownDevice: [UInt8]?,
            requestID: String,
            action: String = "session.start",
            subject: String = ""
        ) {
            self.accountName = accountName
            self.address = address
            self.password = password
            self.knownDevice = knownDevice
            self.requestID = requestID
            self.action = action
            self.subject = subject
        }
    }

    /// The number of free attempts, and the delay of each further attempt.
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
    static let ofDevice = ofAccountAndNetwork
    static let ofAccount = Rule(free: 20, step: .seconds(1), longest: .seconds(15 * 60))
    /// Default limit of attempts per minute and network.
    package static let usualNetworkLimit = 30
    /// The number of networks in an IPv6 /48, a typical customer's size, that may use up their limits at the same time, …
    static let networksOfSite = 8
    /// … and in a /32, which a provider has.
    static let networksOfProvider = 32
    /// Number of attempts answered without verification, per counted attempt of a network.
    static let repeatsOfAttempt = 2
    /// Lifetime of an unused counter; a network's lives one minute.
    static let memory = Duration.seconds(24 * 3600)
    /// Time for which a network, or a device without a record, counts as known for the account's sign-ins.
    package static let successMemory = Duration.seconds(90 * 24 * 3600)
    static let networkMemory = Duration.seconds(60)
    /// Maximum difference between the clocks of two nodes. A counter from later than that was written before the clock was set
    /// back, and is ignored.
    static let skew = Duration.seconds(60)
    /// The minimum interval between audit entries about the same counter.
    static let noteStep = Duration.seconds(15 * 60)

    /// A counter that refuses, and for how long.
    private struct Refusal: Sendable {
        let wait: Duration
        let key: [UInt8]
    }

    /// Counts an attempt.
    ///
    /// - Parameter attempt: the credentials and their origin.
    /// - Returns: the waiting time before the attempt; nil if it may be made now.
    /// - Throws: the database's error.
    package func begin(_ attempt: Attempt) async throws -> Duration? {
        let (keys, now) = (keys(of: attempt), clock.now)
        // Who has to wait changes nothing, and takes no turn of those who write.
        let turn = try await database.readBriefly { try self.turn(keys, at: now, in: $0) }
        var refusal = turn.refusal
        if refusal == nil, !turn.isOfKnownDevice { refusal = wider(attempt.address, at: now) }
        if refusal == nil {
            refusal = try await database.write { transaction in
                let turn = try self.turn(keys, at: now, in: transaction)
                if let refusal = turn.refusal { return refusal }
                for counted in turn.counters { try counted.add(keys.password, at: now, in: transaction) }
                return nil
            }
        }
        guard let refusal else { return nil }
        try await note(refusal, attempt, at: now)
        return refusal.wait
    }

    /// Counts an attempt whose password was found wrong a short while ago.
    ///
    /// - Parameter attempt: the credentials and their origin.
    /// - Returns: the waiting time before the attempt; nil if it may be made now.
    /// - Throws: the database's error.
    package func beginRepeat(_ attempt: Attempt) async throws -> Duration? {
        let (network, now) = (Self.network(of: attempt.address), clock.now)
        guard let wait = repeats.take(network, at: now) else { return nil }
        try await note(Refusal(wait: wait, key: key("repeats", network)), attempt, at: now)
        return wait
    }

    /// The key under which an attempt of a device counts, if it has signed in with the name before and no device list exists.
    ///
    /// - Parameters:
    ///   - device: the hash of the device's identifier.
    ///   - name: the account's name, as typed.
    ///   - transaction: the transaction.
    /// - Returns: a key shared by all devices of the name, because no list limits them; nil for an unknown device.
    /// - Throws: the database's error.
    package func unlistedDevice(_ device: [UInt8], of name: String, in transaction: any Transaction) throws -> [UInt8]? {
        let seen = try ThrottleStore.network(successKey(of: name, on: device), in: transaction)
        return seen.map { clock.now - $0 < Self.successMemory } == true ? key("devices of no list", name) : nil
    }

    private func successKey(of name: String, on device: [UInt8]) -> [UInt8] {
        key("device-success", name, Base64URL.encode(device))
    }

    /// Resets the attempts of an account from a network, or on a device, after the right password.
    ///
    /// - Parameters:
    ///   - attempt: the attempt.
    ///   - device: the device to record as known, if no list of devices contains it.
    /// - Throws: the database's error.
    package func succeeded(_ attempt: Attempt, on device: [UInt8]? = nil) async throws {
        let (keys, now) = (keys(of: attempt), clock.now)
        try await database.write { transaction in
            if let device {
                try ThrottleStore.setNetwork(successKey(of: attempt.accountName, on: device), at: now, in: transaction)
            }
            for key in [keys.accountAndNetwork, keys.account, keys.device].compactMap(\.self) {
                try ThrottleStore.remove(key.bytes, in: transaction)
            }
            try ThrottleStore.setNetwork(keys.success, at: now, in: transaction)
            // The network gets back what this attempt took; a known device's took nothing.
            guard keys.device == nil, var counter = try ThrottleStore.counter(keys.network.bytes, in: transaction),
                counter.failures > 0
            else { return }
            counter.failures -= 1
            if counter.failures < ofNetwork.free { counter.until = Instant(milliseconds: 0) }
            try ThrottleStore.set(counter, for: keys.network, memory: Self.networkMemory, in: transaction)
        }
    }

    /// Removes counters of an account, of a network, of both, or all, so that throttled clients can sign in. Counters of wider
    /// networks, which only this process has, are removed too.
    ///
    /// - Parameters:
    ///   - name: the account's name as typed; nil for every account.
    ///   - address: any address in the network; nil for every network.
    ///   - subject: the id of the account, for the audit log; empty if there is none.
    ///   - actor: the actor for the audit log.
    /// - Returns: the number of counters deleted from the database.
    /// - Throws: the database's error.
    package func clear(name: String?, address: String?, subject: String, by actor: AuditActor) async throws -> Int {
        let now = clock.now
        let account = name.map { key("account", $0) }
        let network = address.map { Self.network(of: $0) }
        let words = [name.map { _ in "account" }, address.map { _ in "network" }].compactMap(\.self)
        let entry = actor.entry(
            "throttle.clear",
            on: subject,
            at: now,
            reason: words.isEmpty ? "all" : words.joined(separator: " ")
        )
        let count = try await database.write { transaction in
            try AuditStore.append(entry, in: transaction)
            if account == nil, network == nil { return try ThrottleStore.removeAll(in: transaction) }
            var count = 0
            if let account { count += try ThrottleStore.remove(ofAccount: account, in: transaction) }
            if let network { count += try ThrottleStore.remove(ofNetwork: self.key("network", network), in: transaction) }
            return count
        }
        noted.withLock { $0.removeAll() }
        guard let network, let address else {
            if name == nil { for meter in [sites, providers, repeats] { meter.clear() } }
            return count
        }
        repeats.clear(network)
        for (meter, bits) in [(sites, 48), (providers, 32)] {
            if let prefix = Self.prefix(of: address, bits: bits) { meter.clear(prefix) }
        }
        return count
    }

    // MARK: Counters

    private typealias CounterKey = ThrottleStore.Key

    /// A counter as it was found.
    private struct Counted: Sendable {
        let key: CounterKey
        let rule: Rule
        let memory: Duration
        /// Whether the same password again is none more.
        let forgivesRepeats: Bool
        var counter = ThrottleStore.Counter()

        /// The remaining delay: never longer than its rule, even after the clock was set back.
        func wait(at now: Instant) -> Duration? {
            guard counter.until > now else { return nil }
            let wait = min(counter.until - now, rule.wait(after: counter.failures))
            return wait > .zero ? wait : nil
        }

        func add(_ password: [UInt8], at now: Instant, in transaction: any Transaction) throws {
            var counter = counter
            if forgivesRepeats {
                if counter.remembers(password) { return }
                counter.remember(password)
            }
            counter.failures += 1
            counter.updatedAt = now
            counter.until = now + rule.wait(after: counter.failures)
            try ThrottleStore.set(counter, for: key, memory: memory, in: transaction)
        }
    }

    /// The decision of the counters on an attempt.
    private struct Turn: Sendable {
        /// The first that refuses it; nil if it may be made.
        var refusal: Refusal?
        /// The counters that count the attempt.
        var counters: [Counted] = []
        /// Whether it passes by the counter of its device, whatever others say.
        var isOfKnownDevice = false
    }

    private func turn(_ keys: Keys, at now: Instant, in transaction: any Transaction) throws -> Turn {
        func look(_ key: CounterKey, _ rule: Rule, _ memory: Duration, forgivesRepeats: Bool = true) throws -> Counted {
            let known = try ThrottleStore.counter(key.bytes, in: transaction).flatMap {
                let age = now - $0.updatedAt
                return age >= .zero - Self.skew && age < memory ? $0 : nil
            }
            return Counted(key: key, rule: rule, memory: memory, forgivesRepeats: forgivesRepeats, counter: known ?? .init())
        }
        if let key = keys.device {
            // each try counts, so that repeating one password cannot keep the server busy
            let device = try look(key, Self.ofDevice, Self.memory, forgivesRepeats: false)
            if device.wait(at: now) == nil { return Turn(counters: [device], isOfKnownDevice: true) }
        }
        var counters = [
            try look(keys.accountAndNetwork, Self.ofAccountAndNetwork, Self.memory),
            try look(keys.network, ofNetwork, Self.networkMemory, forgivesRepeats: false),
        ]
        let success = try ThrottleStore.network(keys.success, in: transaction)
        if success.map({ now - $0 >= Self.successMemory }) ?? true {
            counters.append(try look(keys.account, Self.ofAccount, Self.memory))
        }
        for counted in counters {
            if let wait = counted.wait(at: now) { return Turn(refusal: Refusal(wait: wait, key: counted.key.bytes)) }
        }
        return Turn(counters: counters)
    }

    /// Counts for the wider networks that an address is in.
    private func wider(_ address: String, at now: Instant) -> Refusal? {
        for (meter, bits) in [(sites, 48), (providers, 32)] {
            guard let prefix = Self.prefix(of: address, bits: bits) else { return nil }
            if let wait = meter.take(prefix, at: now) { return Refusal(wait: wait, key: key("wider", prefix)) }
        }
        return nil
    }

    /// Records a refusal by a counter in the audit log, unless one was recorded a short time ago.
    private func note(_ refusal: Refusal, _ attempt: Attempt, at now: Instant) async throws {
        let isDue = noted.withLock { noted in
            if let last = noted[refusal.key], now >= last, now - last < Self.noteStep { return false }
            noted.insert(now, for: refusal.key, cost: 1)
            return true
        }
        guard isDue else { return }
        let actor = AuditActor.unauthenticated(attempt.requestID)
        try await audit.recordRefused(attempt.action, of: attempt.subject, by: actor, at: now, reason: "throttled")
    }

    // MARK: Keys

    private struct Keys: Sendable {
        let accountAndNetwork: CounterKey
        let account: CounterKey
        let network: CounterKey
        let success: [UInt8]
        let device: CounterKey?
        let password: [UInt8]
    }

    private func key(_ parts: String...) -> [UInt8] {
        var message: [UInt8] = []
        for part in parts { message += "\(part.utf8.count):\(part)".utf8 }
        return Array(fingerprint.authenticate(message.rawSpan).prefix(16))
    }

    private func keys(of attempt: Attempt) -> Keys {
        let network = Self.network(of: attempt.address)
        let (ofName, ofNetwork) = (key("account", attempt.accountName), key("network", network))
        return Keys(
            accountAndNetwork: CounterKey(
                key("account-network", attempt.accountName, network),
                .accountAndNetwork,
                account: ofName,
                network: ofNetwork
            ),
            account: CounterKey(ofName, .account, account: ofName),
            network: CounterKey(ofNetwork, .network, network: ofNetwork),
            success: key("success", attempt.accountName, network),
            device: attempt.knownDevice.map {
                CounterKey(key("device", attempt.accountName, Base64URL.encode($0)), .device, account: ofName)
            },
            password: Array(key("password", attempt.accountName, attempt.password).prefix(8))
        )
    }

    /// The /64 of an IPv6 address, or an IPv4 address unchanged.
    package static func network(of address: String) -> String { prefix(of: address, bits: 64) ?? address }

    /// The first bits, a multiple of 16 up to 64, of an IPv6 address; nil for one of IPv4.
    private static func prefix(of address: String, bits: Int) -> String? {
        guard address.utf8.contains(UInt8(ascii: ":")), !address.hasPrefix("::ffff:") else { return nil }
        let head = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)[0].split(separator: ":")
        let count = bits / 16
        return (head.prefix(count) + Array(repeating: "0", count: max(0, count - head.count))).joined(separator: ":")
    }
}
