// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelStore
import CarrelSubscription

/// The last good responses of an upstream system, used while it is unreachable: known tokens and granted products. Tokens
/// themselves and typed names are not stored.
final class LastKnownGoodStore: Sendable {
    /// The longest answer that is kept to be repeated, in bytes.
    private static let maxAnswerBytes = 256 << 10
    /// Maximum length of a cached product id.
    private static let maxProductBytes = 256

    private let source: String
    private let policy: FailPolicy
    private let database: any Database
    private let clock: any WallClock
    private let subjects: UpstreamSubjects

    /// Tokens and names are stored as their HMAC under the secret, of 32 bytes.
    init(source: String, policy: FailPolicy, database: any Database, clock: any WallClock, secret: Secret) {
        self.source = source
        self.policy = policy
        self.database = database
        self.clock = clock
        subjects = UpstreamSubjects(secret: secret)
    }

    /// The record of a token; nil if it was never seen.
    func record(of token: String, product: String? = nil) async throws -> UpstreamStore.Record? {
        let (hash, product) = (hash(of: token), product.flatMap(Self.kept))
        return try await database.readBriefly { try UpstreamStore.record(hash, product: product, in: $0) }
    }

    /// The record of a reader by sign-in name; nil without a sign-in.
    func record(named name: String, product: String) async throws -> UpstreamStore.Record? {
        let (subject, product) = (subject(named: name), Self.kept(product))
        return try await database.read { try UpstreamStore.record(ofAccount: subject, product: product, in: $0) }
    }

    /// Records a sign-in and its account, with the name as a keyed hash.
    func signedIn(_ name: String, token: String, _ audit: (String) -> AuditEntry) async throws {
        let subject = subject(named: name)
        let (hash, now, entry) = (hash(of: token), clock.now, audit(subject))
        try await database.write { [source] transaction in
            try UpstreamStore.setToken(hash, source: source, subject: subject, .live, at: now, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// A token got a successor, which is the same account's. The old one stays what it is until the system says otherwise.
    func renewed(_ token: String, to fresh: String, _ known: UpstreamStore.Record?, _ audit: (String) -> AuditEntry) async throws
    {
        let subject = known?.subject ?? subject(ofToken: token)
        let (hash, now, entry) = (hash(of: fresh), clock.now, audit(subject))
        try await database.write { [source] transaction in
            try UpstreamStore.setToken(hash, source: source, subject: subject, .live, at: now, in: transaction)
            try AuditStore.append(entry, in: transaction)
        }
    }

    /// The system does not take the token, or its owner signed out.
    func ended(_ token: String, _ state: FailPolicy.Memory.Token, _ known: UpstreamStore.Record) async throws {
        guard known.memory.token != state else { return }
        let hash = hash(of: token)
        try await database.write { try UpstreamStore.setState(state, of: hash, in: $0) }
    }

    /// Records the system's statement about a token's account.
    func told(_ answer: SubscriptionAnswer, of token: String, _ known: UpstreamStore.Record?) async throws {
        switch answer.state {
        case .unknown: return
        case .stale:
            if let known { try await ended(token, .refused, known) }
            return
        case .active, .inactive, .suspended: break
        }
        let isSuspended = answer.state == .suspended
        let isGood = answer.state == .active || answer.issues?.isEmpty == false
        // A token without a good response is not stored: it may be made up.
        guard known != nil || isGood || isSuspended else { return }
        var kept: [UInt8]?
        if isGood, !isSuspended, case .lastKnownGood = policy {
            let bytes = answer.write()
            // what could not be read again, such as a message of a hundred thousand letters, is good now and not kept
            if bytes.count <= Self.maxAnswerBytes, (try? SubscriptionAnswer.parse(bytes)) != nil { kept = bytes }
        }
        let now = clock.now
        let isKept = kept == nil ? known?.answer == nil : known?.answer.map { $0.bytes == kept && isFresh($0.at, now) } ?? false
        if let known, !isDue(known, now), known.memory.isSuspended == isSuspended, isKept { return }
        let subject = known?.subject ?? subject(ofToken: token)
        let allowed = answer.issues.map { Set($0) }
        let isActive = answer.state == .active
        let (hash, answerBytes) = (hash(of: token), kept)
        try await database.write { [source] transaction in
            try UpstreamStore.setToken(hash, source: source, subject: subject, .live, at: now, in: transaction)
            try UpstreamStore.setAccount(subject, isSuspended: isSuspended, answer: answerBytes, at: now, in: transaction)
            try UpstreamStore.deleteGrants(to: subject, unless: { allowed?.contains($0) ?? isActive }, in: transaction)
        }
    }

    /// The system granted a product, or refused it.
    func ruled(_ isGranted: Bool, on product: String, token: String, _ known: UpstreamStore.Record?) async throws {
        let subject = known?.subject ?? subject(ofToken: token)
        let (hash, now, product) = (hash(of: token), clock.now, Self.kept(product))
        if isGranted {
            let isGrantDue: Bool
            if case .lastKnownGood = policy, product != nil {
                isGrantDue = known?.memory.grantedAt.map { !isFresh($0, now) } ?? true
            } else {
                isGrantDue = false
            }
            guard isGrantDue || known.map({ isDue($0, now) }) ?? true else { return }
            try await database.write { [source] transaction in
                try UpstreamStore.setToken(hash, source: source, subject: subject, .live, at: now, in: transaction)
                if isGrantDue, let product { try UpstreamStore.setGrant(of: product, to: subject, at: now, in: transaction) }
            }
        } else if known?.memory.grantedAt != nil, let product {
            try await database.write { try UpstreamStore.deleteGrant(of: product, to: subject, in: $0) }
        }
    }

    /// The subject under which responses and grants are stored for a token that was never seen.
    func subject(of token: String, _ known: UpstreamStore.Record?) -> String { known?.subject ?? subject(ofToken: token) }

    // MARK: What is written, and how often

    /// Age at which a confirmation is written again: an eighth of the policy's lifetime, at most an hour.
    private var step: Duration {
        switch policy {
        case .closed: .seconds(86_400)
        case .lastKnownGood(let time), .open(let time, _): max(.seconds(1), min(.seconds(3600), time / 8))
        }
    }

    private func isDue(_ known: UpstreamStore.Record, _ now: Instant) -> Bool {
        known.memory.token != .live || !isFresh(known.memory.confirmedAt, now)
    }

    private func isFresh(_ confirmed: Instant, _ now: Instant) -> Bool { now - confirmed < step && confirmed <= now }

    /// A product's id, if a database can store it.
    private static func kept(_ product: String) -> String? {
        !product.isEmpty && product.utf8.count <= maxProductBytes && !product.utf8.contains(0) ? product : nil
    }

    private func hash(of token: String) -> [UInt8] { subjects.hash(of: token, from: source) }

    private func subject(named name: String) -> String { subjects.subject(named: name, from: source) }

    private func subject(ofToken token: String) -> String { subjects.subject(ofToken: token, from: source) }
}
