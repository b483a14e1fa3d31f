// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelStore
import CarrelThreads
import CarrelWebAPI

/// Authenticates names and passwords sent with every request, like feed readers do.
///
/// The first request costs as much as a sign-in, and is throttled like one. After that the pair is cached for ten minutes, while
/// the account's password is unchanged.
final class BasicAuthenticator: Sendable {
    private struct Known: Sendable {
        let passwordHash: String
        let until: Instant
    }

    private let database: any Database
    private let clock: any WallClock
    private let check: PasswordCheck
    /// Keyed with a key of this process, so that no password can be read from the cache.
    private let fingerprint = HMACSHA256(key: Secret.random(count: 32))
    private let known = Locked(LRUCache<[UInt8], Known>(limit: 10_000))

    private static let memory = Duration.seconds(600)

    init(database: any Database, clock: any WallClock, check: PasswordCheck) {
        self.database = database
        self.clock = clock
        self.check = check
    }

    /// The account that the request's name and password sign in; nil if they do not, or came too often.
    func account(_ request: HTTPRequest) async throws -> Account? {
        guard let (user, password) = request.basicCredentialsAtFirstColon else { return nil }
        let key = fingerprint.authenticate(Array("\(user.utf8.count):\(user):\(password)".utf8).rawSpan)
        let now = clock.now
        if let known = known.withLock({ $0[key] }), now < known.until, let name = try? Account.checkedName(user),
            let record = try await database.readBriefly({ try AccountStore.signInRecord(named: name, in: $0) }),
            record.password == known.passwordHash
        {
            return Self.open(record.account)
        }
        let attempt = PasswordCheck.Attempt(
            name: user,
            password: password,
            address: request.peer.description,
            requestID: request.id
        )
        guard case .right(let record, _) = try await check.run(attempt), let hash = record.password else { return nil }
        known.withLock { $0.insert(Known(passwordHash: hash, until: now + Self.memory), for: key, cost: 1) }
        return Self.open(record.account)
    }

    /// The account, unless it is suspended.
    private static func open(_ account: Account) -> Account? { account.isSuspended ? nil : account }
}
