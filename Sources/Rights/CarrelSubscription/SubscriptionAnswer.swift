// SPDX-License-Identifier: Apache-2.0

internal import CarrelXML

/// The response to verifying a subscription (Pugpig security interface, "Verify Subscription").
public struct SubscriptionAnswer: Sendable, Equatable {
    /// The state of a subscription.
    public enum State: String, Sendable, CaseIterable {
        /// The provider has no subscription for the account.
        case unknown
        /// The subscription is paid and runs.
        case active
        /// There is no running subscription.
        case inactive
        /// The account is suspended.
        case suspended
        /// The token is about to end, was renewed, or is not recognised: renew it or sign in again.
        case stale
    }

    /// A name and a value for the app's own use, such as a segment of customers.
    public struct Category: Sendable, Equatable {
        /// The name of the category.
        public var scheme: String
        /// The value of the category.
        public var term: String

        /// Creates a category.
        ///
        /// - Parameters:
        ///   - scheme: the category's scheme.
        ///   - term: its term.
        public init(scheme: String, term: String) {
            self.scheme = scheme
            self.term = term
        }
    }

    /// The state of the subscription.
    public var state: State
    /// A message for the subscriber.
    public var message: String?
    /// Name and value pairs for the app's own use.
    public var categories: [Category]
    /// The entitled issues: nil if an active subscriber has everything, empty for none, otherwise exactly these, whatever the
    /// state.
    public var issues: [String]?

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - state: the state of the subscription.
    ///   - message: a message for the subscriber.
    ///   - categories: names and values for the app's own use.
    ///   - issues: the products that the account holds; nil for all while the state is active.
    public init(_ state: State, message: String? = nil, categories: [Category] = [], issues: [String]? = nil) {
        self.state = state
        self.message = message
        self.categories = categories
        self.issues = issues
    }

    /// Writes the document in UTF-8; on request, its categories also repeat their term as `value`.
    ///
    /// - Parameter alsoValue: true if categories have the attribute `value`, too.
    /// - Returns: the document.
    public func write(alsoValue: Bool = false) -> [UInt8] {
        var writer = SubscriptionWriter(self, alsoValue: alsoValue, hasIssues: issues != nil)
        for issue in issues ?? [] { writer.issue(issue) }
        return writer.finish()
    }
}

/// Writes the response issue by issue, if there are too many to hold in memory.
public struct SubscriptionWriter: Sendable {
    private var writer = XMLWriter()
    private let hasIssues: Bool

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - answer: the response, without its issues.
    ///   - alsoValue: whether categories also repeat their term as `value`.
    ///   - hasIssues: whether issues are listed, even an empty list.
    public init(_ answer: SubscriptionAnswer, alsoValue: Bool = false, hasIssues: Bool) {
        self.hasIssues = hasIssues
        writer.start("subscription", ["state": answer.state.rawValue, "message": answer.message])
        if !answer.categories.isEmpty {
            writer.start("userinfo")
            for category in answer.categories {
                writer.element(
                    "category",
                    ["scheme": category.scheme, "term": category.term, "value": alsoValue ? category.term : nil]
                )
            }
            writer.end()
        }
        if hasIssues { writer.start("issues") }
    }

    /// Adds the id of a product.
    ///
    /// - Parameter id: the product's id.
    public mutating func issue(_ id: String) {
        precondition(hasIssues, "the answer lists no issues")
        writer.element("issue", text: id)
    }

    /// How many bytes wait to be taken.
    public var count: Int { writer.bytes.count }

    /// The bytes written since the last call.
    ///
    /// Nothing may be taken between the start of the list and its first issue: an empty list is an empty element.
    public mutating func take() -> [UInt8] { writer.take() }

    /// The rest of the document.
    public consuming func finish() -> [UInt8] { writer.finish() }
}
