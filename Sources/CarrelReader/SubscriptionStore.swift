/// Where an app keeps what it knows of its subscription between two starts: a token, which is a secret, and the last answer. Never
/// what somebody typed.
public protocol SubscriptionStore: Sendable {
    /// What was saved last; nil when there is nothing.
    func load() throws -> [UInt8]?

    /// Keeps the bytes in place of those from before, all of them or none, or removes them.
    func save(_ bytes: [UInt8]?) throws
}
