// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelPasswords
import CarrelStore
package import CarrelThrottling

/// Password verification for apps and pages, throttled against guessing.
package struct PasswordCheck: Sendable {
    let database: any Database
    let clock: any WallClock
    let passwords: PasswordHashing
    package let throttle: SignInThrottle
    private let refused = RejectedPasswordCache()

    init(database: any Database, clock: any WallClock, passwords: PasswordHashing, throttle: SignInThrottle) {
        self.database = database
        self.clock = clock
        self.passwords = passwords
        self.throttle = throttle
    }

    /// The name and password typed, with the network they came from.
    package struct Attempt: Sendable {
        package let name: String
        let password: String
        let address: String
        let requestID: String
        /// The audit action of a refusal.
        package var action = "session.start"
        /// The hash of the key of the app's installation; nil in a browser.
        var deviceKeyHash: [UInt8]?
        /// Whether another source already counted the attempt.
        package var isCounted = false

        package init(name: String, password: String, address: String, requestID: String, deviceKeyHash: [UInt8]? = nil) {
            self.name = name
            self.password = password
            self.address = address
            self.requestID = requestID
            self.deviceKeyHash = deviceKeyHash
        }
    }

    package enum Outcome: Sendable {
        /// Refused without verification because of too many attempts; retry after the duration.
        case throttled(Duration)
        /// Unknown account, no password, or a wrong password.
        case wrong
        /// The right one; `rehash` is to be kept where the kept hash costs less than it should.
        case right(SignInRecord, rehash: String?)
    }

    package func run(_ attempt: Attempt) async throws -> Outcome {
        let name = try? Account.checkedName(attempt.name)
        var record: SignInRecord?
        if let name { record = try await database.readBriefly { try AccountStore.signInRecord(named: name, in: $0) } }
        let network = SignInThrottle.network(of: attempt.address)
        let key = refused.key(name: attempt.name, password: attempt.password, network: network)
        let isRepeat = refused.holds(key, passwordHash: record?.password, at: clock.now)
        let counted = SignInThrottle.Attempt(
            accountName: attempt.name,
            address: attempt.address,
            password: attempt.password,
            knownDevice: isRepeat ? nil : try await knownDevice(attempt, record),
            requestID: attempt.requestID,
            subject: record?.account.id ?? ""
        )
        if isRepeat {
            // A password known to be wrong, with or without an account: nothing is hashed, and nothing is written.
            if !attempt.isCounted, let wait = try await throttle.beginRepeat(counted) { return .throttled(wait) }
            return .wrong
        }
        let place = try passwords.place()
        if !attempt.isCounted, let wait = try await throttle.begin(counted) { return .throttled(wait) }
        // Hashed in any case, so that the response time does not reveal whether an account exists.
        let verdict = try await passwords.verify(attempt.password, against: record?.password, in: place)
        guard let record, verdict.isRight else {
            // The typed name is not recorded: it may be a password.
            let actor = AuditActor.unauthenticated(attempt.requestID)
            let subject = record?.account.id ?? ""
            let entry = actor.entry(attempt.action, on: subject, at: clock.now, outcome: .refused, reason: "password")
            try await database.write { try AuditStore.append(entry, in: $0) }
            refused.insert(key, passwordHash: record?.password, at: clock.now)
            return .wrong
        }
        try await throttle.succeeded(counted)
        return .right(record, rehash: verdict.rehash)
    }

    /// Throws when the account's password is another one by now: looking at it took a while.
    static func requireUnchanged(
        _ record: SignInRecord,
        in transaction: any Transaction,
        orElse error: () -> any Error
    ) throws {
        let now = try AccountStore.signInRecord(named: record.account.name, in: transaction)
        guard now?.password == record.password else { throw error() }
    }

    /// The device, if the account has signed in on it before.
    private func knownDevice(_ attempt: Attempt, _ record: SignInRecord?) async throws -> [UInt8]? {
        guard let device = attempt.deviceKeyHash else { return nil }
        return try await database.readBriefly {
            try throttle.knownDevice(device, of: attempt.name, account: record?.account.id, in: $0)
        }
    }

    /// The delay in words.
    package static func words(for wait: Duration) -> String {
        let seconds = max(1, wait.components.seconds)
        return seconds < 100 ? "\(seconds) seconds" : "\((seconds + 59) / 60) minutes"
    }
}
