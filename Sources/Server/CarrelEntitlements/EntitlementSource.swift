// SPDX-License-Identifier: Apache-2.0

package import CarrelAudit
package import CarrelBytes
package import CarrelHTTP
package import CarrelSubscription
import CarrelWebAPI

/// A source of entitlements: Carrel's own accounts, an upstream system, the canned users.
///
/// Sources are queried in the order of the configuration. The first that knows a token decides, and the first that recognizes the
/// sign-in signs the user in; if none does, the last one's refusal is the response, as in the apps, which query their providers
/// in the same way.
package protocol EntitlementSource: Sendable {
    /// Its name in configuration, reports and the audit log.
    var name: String { get }

    /// Whether it slows down who guesses passwords, so that no other source need count the same attempt.
    var countsAttempts: Bool { get }

    /// Whether the source recognizes its own tokens by their form: its response about them is final.
    var knowsTokensByForm: Bool { get }

    /// Whether its grants say how many revocations there were when it looked.
    var countsRevocations: Bool { get }

    /// The health of the upstream system; nil for a local source.
    var health: UpstreamHealth? { get }

    /// Whether a token belongs to this source, which then decides alone.
    func owns(_ token: String) async throws -> Bool

    /// Signs a user in.
    ///
    /// - Returns: a refusal also when the source does not know them; another source may.
    /// - Throws: ``SourceFailure`` when the source cannot tell.
    func signIn(_ request: SignInRequest) async throws -> SignInOutcome

    /// The successor of a token; nil if the token is not from this source.
    func renew(_ token: String, for caller: AuditActor) async throws -> SignInOutcome?

    /// The status of a token's account; nil if the token is not from this source.
    func status(of token: String) async throws -> SubscriptionStatus?

    /// Whether the token's account may read a product; nil if the token is not from this source.
    func decision(on productID: String, token: String) async throws -> SourceDecision?

    /// Evicts the cached state of a token.
    func forget(_ token: String)

    /// Explains why a user may or may not read a product, by sign-in name; nil if the source does not know the name.
    ///
    /// Makes no upstream call and changes nothing.
    func explain(_ productID: String, to name: String) async throws -> SourceExplanation?

    /// Ends what the token stands for. Whether it was one of this source's.
    func signOut(_ token: String, for caller: AuditActor) async throws -> Bool
}

extension EntitlementSource {
    package var knowsTokensByForm: Bool { false }
    package var countsRevocations: Bool { false }
    package var health: UpstreamHealth? { nil }

    package func forget(_ token: String) {}

    package func explain(_ productID: String, to name: String) async throws -> SourceExplanation? { nil }
}

/// A sign-in with its network and device.
package struct SignInRequest: Sendable {
    /// The account's name, by whatever parameter it came.
    package let name: String
    /// Its bytes exactly as typed.
    package let password: String
    /// The installation id; nil if the app sends none.
    package let deviceKey: String?
    package let deviceName: String
    /// The client's address, for throttling.
    package let address: String
    package let requestID: String
    /// Whether another source has counted the attempt.
    package var isCounted = false
    /// Whether another source found that it came too soon; no password is to be tried then.
    package var isThrottled = false

    package init(
        name: String,
        password: String,
        deviceKey: String? = nil,
        deviceName: String = "",
        address: String,
        requestID: String
    ) {
        self.name = name
        self.password = password
        self.deviceKey = deviceKey
        self.deviceName = deviceName
        self.address = address
        self.requestID = requestID
    }
}

/// The outcome of a sign-in or a renewal.
package enum SignInOutcome: Sendable, Equatable {
    /// - globalAuthPassword: a second credential, for feeds; nil if there is none.
    case token(String, globalAuthPassword: String? = nil)
    case refused(status: String, message: String?)
    /// Too many attempts, as we counted them, and how long to wait: no other source is to try the password either.
    case throttled(Duration)

    /// Whether the user is unknown, in any source's words.
    package var saysNotRecognised: Bool { if case .refused("notrecognised", _) = self { true } else { false } }

    /// A refusal that does not reveal whether the account exists.
    package static let notRecognised = refused(status: "notrecognised", message: "Credentials not recognised")
}

/// The status of a subscription, for verify_subscription.
package struct SubscriptionStatus: Sendable {
    package enum State: String, Sendable, CaseIterable { case unknown, active, inactive, suspended, stale }

    package var state: State
    package var message: String?
    /// Name and value pairs for the app's own use.
    package var categories: [(scheme: String, term: String)]
    /// The products, if they are listed individually; nil if an active account has everything.
    package var issues: (any Sequence<String> & Sendable)?
    /// The only products that the token can ever open, whatever else is granted; nil for no such bound. Tokens with a bound are
    /// for tests, and read no private catalog. Apps are not told.
    package var onlyProducts: Set<String>?

    package init(
        _ state: State,
        message: String? = nil,
        categories: [(scheme: String, term: String)] = [],
        issues: (any Sequence<String> & Sendable)? = nil
    ) {
        self.state = state
        self.message = message
        self.categories = categories
        self.issues = issues
    }
}

/// A source's decision on a product.
package enum SourceDecision: Sendable, Equatable {
    /// - rule: the reason, for the audit log.
    /// - tag: the subject of the issued credentials, so that they can be revoked with the account.
    /// - life: the lifetime of the credentials; nil for the configured time.
    /// - serial: the number of the last revocation when it was looked up; nil if the source does not count them.
    /// - headers: further header fields for the app to send with its downloads.
    case granted(
        rule: String,
        tag: String,
        life: Duration? = nil,
        serial: UInt32? = nil,
        headers: [CredentialsAnswer.Header] = []
    )
    /// - status: the status; may be missing, as for one canned user.
    /// - tag: the subject for the audit log; nil if unknown.
    case refused(status: String?, message: String?, tag: String? = nil)

    static let notEntitled = notEntitled(to: nil)
    static let expired = expired(to: nil)
    static let suspended = suspended(to: nil)
    package static let notRecognised = refused(status: "notrecognised", message: "Authentication details not recognised")

    package static func notEntitled(to tag: String?) -> SourceDecision {
        refused(status: "notentitled", message: "You are not entitled to this edition", tag: tag)
    }

    static func expired(to tag: String?) -> SourceDecision {
        refused(status: "expired", message: "Your subscription has expired", tag: tag)
    }

    static func suspended(to tag: String?) -> SourceDecision {
        refused(status: "suspended", message: "Your account is suspended", tag: tag)
    }

    /// The decision that follows from entitlements. Credentials do not outlive the last rule that grants the product.
    ///
    /// - Parameters:
    ///   - entitlement: the plans and purchases.
    ///   - productID: the product.
    ///   - products: the catalog.
    ///   - tag: the subject for revocation.
    ///   - now: the time.
    ///   - source: the prefix of the rule's name in the audit log.
    ///   - serial: the number of the last revocation.
    package init(
        of entitlement: Entitlement,
        on productID: String,
        _ products: Products,
        tag: String,
        at now: Instant,
        source: String = "",
        serial: UInt32? = nil
    ) {
        let (verdict, end) = entitlement.word(on: products[productID], of: products, at: now)
        switch verdict {
        case .granted(let rule):
            self = .granted(rule: source + rule, tag: tag, life: end.map { $0 - now }, serial: serial)
        case .notEntitled: self = .notEntitled(to: tag)
        case .expired: self = .expired(to: tag)
        case .suspended: self = .suspended(to: tag)
        }
    }
}

/// A failed source: the app keeps its current state.
package struct SourceFailure: HTTPProblemConvertible, Equatable, CustomStringConvertible {
    package let source: String
    package let detail: String

    package init(source: String, detail: String) {
        self.source = source
        self.detail = detail
    }

    package var description: String { "\(source): \(detail)" }

    package var problem: HTTPError {
        HTTPError(.serviceUnavailable, "subscription.source", "\(source) does not respond", headers: ["Retry-After": "30"])
    }
}
