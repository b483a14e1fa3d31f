// SPDX-License-Identifier: Apache-2.0

/// A step of an exchange with the server, for the app's progress display.
public enum PlayerTransaction: Sendable {
    /// The kinds of transactions.
    public enum Kind: String, Sendable, CaseIterable {
        /// A token is processed.
        case serviceToken = "service-token"
        /// The player gets its first certificate.
        case personalization
        /// The player is linked to an account.
        case link
        /// The player's link is removed.
        case linkRelease = "link-release"
        /// The player's certificate is renewed.
        case renewal
        /// The service's keys, its list of revocations and the time are fetched; the next three kinds are its steps.
        case revocations
        /// The service's keys are fetched.
        case securityData = "security-data"
        /// The revocation list is fetched, as a step.
        case revocationList = "revocation-list"
        /// The signed time is fetched.
        case trustedTime = "trusted-time"
        /// A license is fetched.
        case license
        /// Counts of plays are uploaded.
        case metering
    }

    /// A transaction began.
    case began(Kind)
    /// A step is done.
    ///
    /// - Parameters:
    ///   - done: steps done, from 1.
    ///   - total: steps in all.
    case progress(Kind, step: String, done: Int, total: Int)
    /// A call to the server ended; without a response, the status is nil.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - url: the URL without its query, so that it contains no token.
    ///   - status: the status of the response.
    ///   - duration: the duration of the call.
    case call(_ method: String, _ url: String, status: Int?, duration: Duration)
    /// A transaction ended; the error is nil on success.
    case ended(Kind, PlayerError?)
}
