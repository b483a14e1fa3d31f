// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON

/// The checks of an ID token (OpenID Connect Core 1.0 §3.1.3.7, RFC 8725 §3): a pure function of its claims, ours and the time.
struct IDToken {
    /// How far the provider's clock and ours may be apart.
    static let skew = Duration.seconds(120)
    /// A token that is fetched with a code was made just now.
    static let maxAge = Duration.seconds(600)

    private let claims: JSONObject

    /// The signature was checked before; the signed token may still be meant for another client.
    init(_ token: JWS.Verified) throws(UpstreamError) {
        // An access token, which others may hold, is signed with the same keys.
        if let type = token.header.type, type.lowercased() != "jwt" { throw Self.refused("it is of another type") }
        guard
            let claims = try? JSON.parse(token.payload.rawSpan, limits: JSONLimits(depth: 16, byteCount: JWS.maxByteCount)).object
        else { throw Self.refused("its claims are no JSON object") }
        self.claims = claims
    }

    /// Verifies the token and returns the identity that signed in.
    ///
    /// - Parameters:
    ///   - configuration: the expected issuer and audience.
    ///   - nonce: the nonce sent to the provider for this sign-in.
    ///   - now: the time.
    /// - Returns: the identity.
    /// - Throws: `upstream.untrusted`.
    func identity(_ configuration: OpenIDConfiguration, nonce: String, at now: Instant) throws(UpstreamError) -> OpenIDIdentity {
        guard claims["iss"]?.string == configuration.issuer else { throw Self.refused("its issuer is another") }
        try checkAudience(configuration.clientID)
        try checkTime(now)
        let sent = Array(nonce.utf8)
        let received = Array((claims["nonce"]?.string ?? "").utf8)
        guard constantTimeEqual(sent.rawSpan, received.rawSpan) else { throw Self.refused("it is not of this sign-in") }
        guard let subject = claims["sub"]?.string, 1...255 ~= subject.utf8.count,
            subject.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f })
        else { throw Self.refused("its subject is missing or longer than 255 bytes") }
        return OpenIDIdentity(issuer: configuration.issuer, subject: subject, groups: groups(configuration.groupsClaim))
    }

    /// Checks that the audience includes us and, if it includes others, that the token was issued to us.
    private func checkAudience(_ clientID: String) throws(UpstreamError) {
        let audience: [String]
        switch claims["aud"] {
        case .string(let one)?: audience = [one]
        case .array(let several)?: audience = several.compactMap(\.string)
        default: audience = []
        }
        guard audience.contains(clientID) else { throw Self.refused("it is for another client") }
        let party = claims["azp"]
        guard party.map({ $0.string == clientID }) ?? (audience.count == 1) else {
            throw Self.refused("it was issued to another client")
        }
    }

    private func checkTime(_ now: Instant) throws(UpstreamError) {
        guard let expires = try instant("exp"), let issued = try instant("iat") else {
            throw Self.refused("it does not say when it was made and when it ends")
        }
        guard now < expires + Self.skew else { throw Self.refused("it has expired") }
        guard issued <= now + Self.skew, now - issued <= Self.maxAge + Self.skew else {
            throw Self.refused("it was made at another time")
        }
        if let start = try instant("nbf"), start > now + Self.skew { throw Self.refused("it is not valid yet") }
    }

    /// A NumericDate (RFC 7519 §2).
    private func instant(_ name: String) throws(UpstreamError) -> Instant? {
        guard let value = claims[name] else { return nil }
        guard let seconds = value.double, abs(seconds) < 1e11 else { throw Self.refused("\(name) is not a time") }
        return Instant(milliseconds: Int64(seconds * 1000))
    }

    private func groups(_ claim: String) -> [String] {
        switch claims[claim] {
        case .string(let one)?: [one]
        case .array(let several)?: several.prefix(1000).compactMap(\.string)
        default: []
        }
    }

    private static func refused(_ why: String) -> UpstreamError { UpstreamError(.untrusted, "the ID token is refused: \(why)") }
}
