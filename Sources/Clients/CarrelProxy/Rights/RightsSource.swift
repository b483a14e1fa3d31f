// SPDX-License-Identifier: Apache-2.0

public import CarrelMedia

/// Redeems the tokens of MS3 addresses: an app's own client of a rights service.
///
/// ```swift
/// let session = try proxy.makeURL("ms3://rights.example/hms/ms3/rights/?b=…#…", .dash, rights: rights)
/// ```
public protocol RightsSource: Sendable {
    /// Redeems the token of an address. Called once per session, and again only after ``RightsAnswer/unavailable(_:)``.
    ///
    /// - Parameters:
    ///   - url: the address with the token and the location of the rights service.
    ///   - client: sends requests under the rules of the proxy: TLS only; the first request may go to the rights service wherever
    ///     it is, redirects to private networks need the proxy's permission.
    /// - Returns: the rights, or the reason for their absence.
    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer
}

/// The response of a rights service.
public enum RightsAnswer: Sendable {
    /// Yes.
    case granted(StreamRights)
    /// No, and why: a lower-case sentence without a period.
    case refused(String)
    /// The rights service is unavailable, with the reason: a lower-case sentence without a period.
    case unavailable(String)
}
