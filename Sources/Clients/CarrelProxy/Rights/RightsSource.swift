// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// Redeems the tokens of MS3 addresses: an app's own client of a rights service.
///
/// ```swift
/// let session = try proxy.makeURL("ms3://rights.example/hms/ms3/rights/?b=…#…", .dash, rights: rights)
/// ```
public protocol RightsSource: Sendable {
    /// Redeems the token of an address. A session asks with its first request, and once; again only where the answer was
    /// ``RightsAnswer/unavailable(_:)``.
    ///
    /// - Parameters:
    ///   - url: has the token, and the address at which it is redeemed.
    ///   - client: sends requests under the rules of the proxy: by TLS, where the first goes to the rights service wherever it is, and redirects
    ///     lead to no private network unless the proxy allows that.
    /// - Returns: the rights, or why there are none.
    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer
}

/// The answer of a rights service.
public enum RightsAnswer: Sendable {
    /// Yes.
    case granted(StreamRights)
    /// No, and why: a lower-case sentence without a period.
    case refused(String)
    /// There is no answer now, and why: a lower-case sentence without a period.
    case unavailable(String)
}
