// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
import CarrelCrypto
import CarrelSubscription

/// Users with known names, one for each case an app can meet, so that it can be tested against all of them.
///
/// Their token is their name reversed, and any password is accepted, except for `peter`, whose password is `pan`. They exist only
/// if configured. They open only the canned products, because they require no password; those products need not exist.
package struct CannedUsers: EntitlementSource {
    package let name = "canned"
    package let countsAttempts = false
    /// The ids of the products that these users know of.
    private let issues: [String]
    private let isIssue: Set<String>
    private let clock: any WallClock
    /// Waits; injected for tests.
    private let sleep: @Sendable (Duration) async throws -> Void

    /// The fault of a user of the form `A-B-C`: A at sign-in, B at verification, C for credentials.
    package enum Fault: Error, Sendable, Equatable {
        /// Answers with this HTTP status.
        case status(Int)
        /// Answers 200 with a body that makes no sense.
        case garbage
        /// Answers after a minute.
        case stall

        init?(_ text: Substring) {
            switch text {
            case "000": self = .garbage
            case "zzz": self = .stall
            default:
                guard text.count == 3, let status = Int(text), (200...599).contains(status) else { return nil }
                self = .status(status)
            }
        }
    }

    /// The products of these users: their ids are the prefix and a number, padded to four digits.
    package struct Issues: Sendable, Equatable {
        package var prefix: String
        package var numbers: ClosedRange<Int>

        package init(prefix: String = "com.pugpig.edition", numbers: ClosedRange<Int> = 1...100) {
            self.prefix = prefix
            self.numbers = numbers
        }

        var ids: [String] { numbers.map(id) }
        package var first: String { id(numbers.lowerBound) }

        private func id(_ number: Int) -> String {
            let digits = String(number)
            return prefix + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    package init(
        issues: Issues = Issues(),
        clock: any WallClock,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.issues = issues.ids
        isIssue = Set(self.issues)
        self.clock = clock
        self.sleep = sleep
    }

    /// The names that are listed, and what each shows.
    package static let names: [String] =
        ["all", "none", "some", "global", "random"].flatMap { ["active\($0)", "lapsed\($0)", "flip\($0)"] } + [
            "yesbyproxy", "longjson", "credserror", "expiredtoken", "alwaysstaletoken", "blockedtoken", "suspended", "unknown",
            "expired",
            "rubbish", "peter",
            "200-200-200", "500-200-200", "200-500-200", "200-200-500", "200-500-500", "500-500-500", "000-200-200",
            "200-000-200", "200-200-000", "200-000-000", "000-000-000", "zzz-200-200", "200-zzz-200", "200-200-zzz",
        ]

    // MARK: EntitlementSource

    package func signIn(_ request: SignInRequest) async throws -> SignInOutcome {
        let user = request.name.lowercased()
        if let faults = Self.faults(user) {
            try await raise(faults[0])
            return .token(Self.token(of: user))
        }
        guard user != "rubbish", Self.names.contains(user), user != "peter" || request.password == "pan" else {
            return .notRecognised
        }
        return .token(Self.token(of: user), globalAuthPassword: user.hasSuffix("global") ? "" : nil)
    }

    package func owns(_ token: String) -> Bool { Self.user(of: token) != nil }

    package func renew(_ token: String, for caller: AuditActor) async throws -> SignInOutcome? {
        guard let user = Self.user(of: token) else { return nil }
        switch user {
        case "expiredtoken": return .token(Self.token(of: "activeall"))
        case "alwaysstaletoken":
            let count = token.split(separator: ".").dropFirst().first.flatMap { UInt32($0) } ?? 0
            return .token("\(Self.token(of: user)).\(count &+ 1)")
        case "blockedtoken": return .notRecognised
        default: return .token(token)
        }
    }

    package func status(of token: String) async throws -> SubscriptionStatus? {
        guard let user = Self.user(of: token) else { return nil }
        if let faults = Self.faults(user) {
            try await raise(faults[1])
            return status(.active, message: nil)
        }
        switch user {
        case "expiredtoken", "alwaysstaletoken", "blockedtoken":
            return SubscriptionStatus(.stale, message: "This token is to be renewed")
        case "yesbyproxy":
            return status(.active, message: "This says that you are active, but no edition will be granted")
        case "suspended": return SubscriptionStatus(.suspended, message: "Your subscription is suspended")
        case "unknown": return SubscriptionStatus(.unknown, message: "Your subscription could not be looked up")
        case "expired": return status(.inactive, message: "Your subscription has expired")
        default: break
        }
        guard let kind = Self.kind(of: user) else { return status(.active, message: "You are \(user)") }
        let isActive = isActive(user)
        var message = isActive ? "You are an active subscriber" : "Your subscription has lapsed"
        if user.hasPrefix("flip") { message += ", for \(secondsToFlip) more seconds" }
        var status = status(isActive ? .active : .inactive, message: message)
        status.categories = [("name", user)]
        status.issues = listed(kind)
        return status
    }

    private func status(_ state: SubscriptionStatus.State, message: String?) -> SubscriptionStatus {
        var status = SubscriptionStatus(state, message: message)
        status.onlyProducts = isIssue
        return status
    }

    package func decision(on productID: String, token: String) async throws -> SourceDecision? {
        guard let user = Self.user(of: token) else { return nil }
        if let faults = Self.faults(user) {
            try await raise(faults[2])
            return granted(productID, user)
        }
        switch user {
        case "expiredtoken", "alwaysstaletoken", "blockedtoken": return .notRecognised
        case "yesbyproxy": return .notEntitled(to: user)
        case "credserror": return .refused(status: nil, message: "An error without a status", tag: user)
        case "suspended": return .suspended(to: user)
        case "unknown": return .notRecognised
        case "expired": return .expired(to: user)
        default: break
        }
        guard let kind = Self.kind(of: user) else { return granted(productID, user) }
        if let listed = listed(kind) { return listed.contains(productID) ? granted(productID, user) : .notEntitled(to: user) }
        return isActive(user) ? granted(productID, user) : .notEntitled(to: user)
    }

    package func signOut(_ token: String, for caller: AuditActor) async throws -> Bool {
        Self.user(of: token) != nil
    }

    package func explain(_ productID: String, to name: String) async throws -> SourceExplanation? {
        let user = name.lowercased()
        guard user != "rubbish", Self.names.contains(user) || Self.faults(user) != nil else { return nil }
        let rule = "canned \(user)"
        func says(_ verdict: SourceExplanation.Verdict, _ reason: String) -> SourceExplanation {
            let finding = Entitlement.Finding(rule: rule, effect: verdict == .granted ? .grants : .none, reason: reason)
            return SourceExplanation(verdict: verdict, rule: verdict == .granted ? rule : nil, findings: [finding])
        }
        func grants(_ reason: String) -> SourceExplanation {
            isIssue.contains(productID)
                ? says(.granted, reason) : says(.notEntitled, "canned users open the canned products only")
        }
        if let faults = Self.faults(user) {
            return switch faults[2] {
            case nil: grants("it is granted every canned product")
            case .stall?: grants("it is granted every canned product, a minute after it was asked for")
            case .garbage?: says(.unavailable, "the call for credentials is answered with a body that makes no sense")
            case .status(let status)?: says(.unavailable, "the call for credentials is answered with status \(status)")
            }
        }
        switch user {
        case "expiredtoken", "alwaysstaletoken", "blockedtoken":
            return says(.notEntitled, "its token is stale, and opens nothing")
        case "yesbyproxy": return says(.notEntitled, "it is verified as active, and granted nothing")
        case "credserror": return says(.notEntitled, "credentials are refused with an error that has no status")
        case "suspended": return says(.suspended, "it is suspended, and opens nothing")
        case "unknown": return says(.notEntitled, "its subscription cannot be looked up, and it opens nothing")
        case "expired": return says(.expired, "its subscription has expired")
        default: break
        }
        guard let kind = Self.kind(of: user) else { return grants("it is granted every canned product") }
        if kind == .random { return says(.asked, "it lists different products on every request") }
        if let listed = listed(kind) {
            return listed.contains(productID)
                ? says(.granted, "it lists the product") : says(.notEntitled, "it does not list the product")
        }
        let isActive = isActive(user)
        let reason = isActive ? "it is active and has every canned product" : "it has lapsed and has nothing"
        let words = user.hasPrefix("flip") ? "\(reason), for \(secondsToFlip) more seconds" : reason
        return isActive ? grants(words) : says(.notEntitled, words)
    }

    /// One user's downloads outlive their credentials, to show how an app handles it, and include a header field to send.
    private func granted(_ productID: String, _ user: String) -> SourceDecision {
        guard isIssue.contains(productID) else { return .notEntitled(to: user) }
        guard user == "activesome" else { return .granted(rule: "canned \(user)", tag: user) }
        let life = Duration.seconds(3)
        let token = "\(productID)|\((clock.now + life).milliseconds / 1000)"
        let header = CredentialsAnswer.Header(name: "X-Edge-Token", value: token)
        return .granted(rule: "canned \(user)", tag: user, life: life, headers: [header])
    }

    // MARK: The users

    private enum Kind: String { case all, none, some, global, random }

    private static func kind(of user: String) -> Kind? {
        for prefix in ["active", "lapsed", "flip"] where user.hasPrefix(prefix) {
            return Kind(rawValue: String(user.dropFirst(prefix.count)))
        }
        return nil
    }

    private static func faults(_ user: String) -> [Fault?]? {
        let parts = user.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let faults = parts.map { Fault($0) }
        guard !faults.contains(nil) else { return nil }
        return faults.map { $0 == .status(200) ? nil : $0 }
    }

    private func raise(_ fault: Fault?) async throws {
        if fault == .stall { return try await sleep(.seconds(60)) }
        if let fault { throw fault }
    }

    /// A user that flips is active in the odd one of two slots of five minutes.
    private func isActive(_ user: String) -> Bool {
        user.hasPrefix("active") || (user.hasPrefix("flip") && clock.now.milliseconds / 300_000 % 2 == 1)
    }

    private var secondsToFlip: Int64 { 300 - clock.now.milliseconds / 1000 % 300 }

    private func listed(_ kind: Kind) -> [String]? {
        switch kind {
        case .all, .global: nil
        case .none: []
        case .some: stride(from: 0, to: issues.count, by: 2).map { issues[$0] }
        case .random: issues.filter { _ in Random.bytes(1)[0] & 1 == 0 }
        }
    }

    // MARK: Tokens

    package static func token(of user: String) -> String {
        user == "longjson" ? longToken : String(user.reversed())
    }

    private static func user(of token: String) -> String? {
        if token == longToken { return "longjson" }
        let user = String((token.split(separator: ".").first ?? "").reversed())
        guard user != "rubbish", user != "longjson" else { return nil }
        return names.contains(user) || faults(user) != nil ? user : nil
    }

    /// About two thousand characters of JSON: quotes, braces and line ends that have to survive every step.
    private static let longToken: String = {
        let lines = (1...40).map { "  \"claim\($0)\": \"a 'value' & more <\($0)>: {[+%]}\"" }
        return "{\n" + lines.joined(separator: ",\n") + "\n}"
    }()
}
