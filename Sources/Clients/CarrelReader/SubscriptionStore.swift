// SPDX-License-Identifier: Apache-2.0

/// Storage for an app's subscription between two starts: a token, which is a secret, and the last response. Never
/// a password.
public protocol SubscriptionStore: Sendable {
    /// The bytes that were saved last; nil when there are none.
    ///
    /// - Throws: an error of the store if the bytes exist and cannot be read.
    func load() throws -> [UInt8]?

    /// Keeps the bytes in place of those from before, all of them or none, or removes them.
    ///
    /// - Parameter bytes: the bytes to store; nil removes them.
    /// - Throws: an error of the store if the bytes cannot be written.
    func save(_ bytes: [UInt8]?) throws
}
