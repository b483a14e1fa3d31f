// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The decision of an entitlement source while its upstream system is unreachable.
public enum FailPolicy: Sendable, Equatable {
    /// Nothing: apps keep their entitlements, and nothing new is opened.
    case closed
    /// The last grants of the system, for this time. At most a week.
    case lastKnownGood(Duration)
    /// Every product to every token that the system confirmed within this time, up to a number of times per minute. At most a
    /// day.
    case open(Duration, perMinute: Int)

    /// The name in the configuration: `closed`, `last-known-good` or `open`.
    public var word: String {
        switch self {
        case .closed: "closed"
        case .lastKnownGood: "last-known-good"
        case .open: "open"
        }
    }

    /// The longest that the policies may remember.
    public static let longestMemory = Duration.seconds(7 * 86_400)
    /// The longest that ``open(_:perMinute:)`` may open everything: one day.
    public static let longestOpening = Duration.seconds(86_400)

    /// The lifetime of credentials issued from cached responses: one hour.
    public static let lifeOfRemembered = Duration.seconds(3600)
    /// The lifetime of credentials under ``open(_:perMinute:)``: 15 minutes.
    public static let lifeOfOpened = Duration.seconds(15 * 60)

    /// The cached state of one token of an upstream system.
    public struct Memory: Sendable, Equatable {
        /// The state of a cached token.
        public enum Token: String, Sendable, CaseIterable {
            /// The upstream system issued or confirmed it.
            case live
            /// The system did not recognise it, or called it stale.
            case refused
            /// Its owner signed out.
            case ended
        }

        /// The state of the token.
        public var token: Token
        /// When the system last issued or recognized the token.
        public var confirmedAt: Instant
        /// Whether the account was suspended in the system's last response.
        public var isSuspended: Bool
        /// The time of the last grant of the product to the account, if the last response about it was a grant.
        public var grantedAt: Instant?

        /// Creates a cached state.
        ///
        /// - Parameters:
        ///   - token: the state of the token.
        ///   - confirmedAt: the time of the last confirmation.
        ///   - isSuspended: whether the account was suspended in the last response.
        ///   - grantedAt: the time of the last grant of the product; nil if the last response refused it.
        public init(_ token: Token, confirmedAt: Instant, isSuspended: Bool = false, grantedAt: Instant? = nil) {
            self.token = token
            self.confirmedAt = confirmedAt
            self.isSuspended = isSuspended
            self.grantedAt = grantedAt
        }
    }

    /// The decision about a product.
    public enum Ruling: Sendable, Equatable {
        /// The token is not known.
        case notRecognised
        /// It cannot be decided.
        case unavailable
        /// Granted because it was; with the lifetime of the credentials.
        case remembered(life: Duration)
        /// Granted because the policy opens; with the lifetime of the credentials. The limit per minute is still to be applied.
        case opened(life: Duration)
    }

    /// Decides about a product without the system.
    ///
    /// - Parameters:
    ///   - memory: the cached state of the token; nil if it was never seen.
    ///   - now: the time.
    /// - Returns: the ruling; an opening has still to keep the cap.
    public func ruling(on memory: Memory?, at now: Instant) -> Ruling {
        guard let memory, memory.token == .live else { return .notRecognised }
        if memory.isSuspended { return .unavailable }
        switch self {
        case .closed: return .unavailable
        case .lastKnownGood(let time):
            guard let granted = memory.grantedAt, Self.lies(granted, within: min(time, Self.longestMemory), of: now) else {
                return .unavailable
            }
            return .remembered(life: Self.lifeOfRemembered)
        case .open(let time, _):
            guard Self.lies(memory.confirmedAt, within: min(time, Self.longestOpening), of: now) else { return .unavailable }
            return .opened(life: Self.lifeOfOpened)
        }
    }

    /// Whether a positive response about the subscription may be repeated.
    ///
    /// - Parameters:
    ///   - answeredAt: the time of the answer.
    ///   - memory: the cached facts about the token and the account; nil if there are none.
    ///   - now: the current time.
    /// - Returns: true if the answer may be repeated.
    public func mayRepeat(_ answeredAt: Instant, of memory: Memory?, at now: Instant) -> Bool {
        guard case .lastKnownGood(let time) = self, let memory, memory.token == .live, !memory.isSuspended else { return false }
        return Self.lies(answeredAt, within: min(time, Self.longestMemory), of: now)
    }

    /// Future times do not count: the clock was set back.
    private static func lies(_ instant: Instant, within time: Duration, of now: Instant) -> Bool {
        instant <= now && now - instant < time
    }
}
