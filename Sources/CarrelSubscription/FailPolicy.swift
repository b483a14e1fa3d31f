public import CarrelBytes

/// What a source says while the system that it asks does not answer.
public enum FailPolicy: Sendable, Equatable {
    /// Nothing: apps keep what they knew, and nothing new is opened.
    case closed
    /// What the system last granted, for this time. At most a week.
    case lastKnownGood(Duration)
    /// Every product to every token that the system confirmed within this time, at most so often a minute. At most a day.
    case open(Duration, perMinute: Int)

    /// What the configuration calls it: `closed`, `last-known-good` or `open`.
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

    /// How long the credentials live that are handed out without asking.
    public static let lifeOfRemembered = Duration.seconds(3600)
    /// The lifetime of credentials under ``open(_:perMinute:)``: 15 minutes.
    public static let lifeOfOpened = Duration.seconds(15 * 60)

    /// What is remembered of one token of a system.
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
        /// When the system last gave or recognised the token.
        public var confirmedAt: Instant
        /// Whether the account was suspended when the system was last asked.
        public var isSuspended: Bool
        /// When the system last granted the account what is asked for, if its last word on it was that.
        public var grantedAt: Instant?

        /// Creates a cached state.
        ///
        /// - Parameters:
        ///   - token: the state of the token.
        ///   - confirmedAt: the time of the last confirmation.
        ///   - isSuspended: whether the account was suspended in the last answer.
        ///   - grantedAt: the time of the last grant of the product; nil if the last answer refused it.
        public init(_ token: Token, confirmedAt: Instant, isSuspended: Bool = false, grantedAt: Instant? = nil) {
            self.token = token
            self.confirmedAt = confirmedAt
            self.isSuspended = isSuspended
            self.grantedAt = grantedAt
        }
    }

    /// What to say of a product.
    public enum Ruling: Sendable, Equatable {
        /// Nobody knows the token.
        case notRecognised
        /// It cannot be told.
        case unavailable
        /// Granted because it was; credentials live so long.
        case remembered(life: Duration)
        /// Granted because the policy opens; credentials live so long. The cap has still to be kept.
        case opened(life: Duration)
    }

    /// What to say of a product without the system.
    ///
    /// - Parameters:
    ///   - memory: what is known of the token; nil for one that was never seen.
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

    /// Whether an answer about the subscription that was good at the time may be given again.
    public func mayRepeat(_ answeredAt: Instant, of memory: Memory?, at now: Instant) -> Bool {
        guard case .lastKnownGood(let time) = self, let memory, memory.token == .live, !memory.isSuspended else { return false }
        return Self.lies(answeredAt, within: min(time, Self.longestMemory), of: now)
    }

    /// Times to come count for nothing: the clock was set back.
    private static func lies(_ instant: Instant, within time: Duration, of now: Instant) -> Bool {
        instant <= now && now - instant < time
    }
}
