// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelHTTP
import CarrelJOSE
import CarrelJSON

/// A proof that its sender has a key and requests the redemption of one token, now and once (RFC 9449).
///
/// The key is in the header of the proof; no other message accepts such a key. The reader must determine the owner of the key.
/// `ath` binds the token as RFC 9449 §4.2 binds an access token.
package struct DPoPProof: Sendable, Equatable {
    /// The key that signed it.
    package let key: P256.PublicKey
    /// `jti`: used once by the sender, and repeated in the response.
    package let id: String
    package let issuedAt: Instant
    /// The digest of the text, repeated in the response.
    package let digest: [UInt8]

    /// How far `iat` may be from the time of the reader.
    package static let tolerance = Duration.seconds(300)
    private static let maxIDByteCount = 128

    /// The thumbprint of the key (RFC 7638).
    package var thumbprint: String { JWK.p256(key).thumbprint }

    /// A new proof, with the values that its response must repeat.
    package struct Made: Sendable, Equatable {
        /// The value of the field `DPoP`.
        package let text: String
        /// `jti`: the nonce of the license.
        package let id: String
        /// The digest of the text: the `request` of the license.
        package let digest: [UInt8]
    }

    /// Makes a proof.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - url: the address of the request; a query and a fragment are left out.
    ///   - token: the text of the token to redeem.
    ///   - signingKey: the player's signing key.
    ///   - now: the player's best estimate of the service's time.
    ///   - sign: signs with that key; returns R and S, 64 bytes.
    /// - Returns: the proof.
    /// - Throws: the errors of `sign`.
    package static func make(
        method: HTTPMethod,
        url: String,
        token: String,
        signingKey: P256.PublicKey,
        now: Instant,
        sign: ([UInt8]) async throws -> [UInt8]
    ) async throws -> Made {
        let id = Base64URL.encode(Random.bytes(16))
        let payload: JSON = [
            "jti": .string(id), "htm": .string(method.rawValue), "htu": .string(String(url.prefix { $0 != "?" && $0 != "#" })),
            "iat": now.numericDate, "ath": .string(Self.digest(ofToken: token)),
        ]
        let unsigned = TypedJWS.Unsigned(RightsMessage.proof, key: .p256(signingKey), payload: payload.write())
        let text = unsigned.signed(try await sign(unsigned.input))
        return Made(text: text, id: id, digest: SHA256.hash(Array(text.utf8).rawSpan))
    }

    /// Reads a proof and checks it, except for the owner of its key and whether it was used before.
    ///
    /// - Parameters:
    ///   - text: the value of the `DPoP` field.
    ///   - method: the method of the request.
    ///   - urls: the accepted URLs of the request, without a query.
    ///   - token: the text of the token in the request.
    ///   - now: the time of the service.
    /// - Throws: `rights.malformed` if it is not a proof; `rights.signature` if it was not signed with the key of its header, or
    ///   is for another request or token; `rights.expired` if its time is out of range.
    package init(_ text: String, method: HTTPMethod, urls: [String], token: String, at now: Instant) throws(RightsError) {
        let message = try RightsMessage.read(text, as: RightsMessage.proof)
        guard case .p256(let key)? = message.key else { throw RightsError(.malformed, "the key of the proof is not on P-256") }
        let bytes: [UInt8]
        do throws(JOSEError) {
            bytes = try message.verified(by: .p256(key))
        } catch {
            throw RightsError(.signature, "the proof was not signed with the key of its header")
        }
        let json = try RightsMessage.json(bytes)
        guard let id = json["jti"]?.string, 1...Self.maxIDByteCount ~= id.utf8.count, let issuedAt = json.instant("iat"),
            let htm = json["htm"]?.string, let htu = json["htu"]?.string, let ath = json["ath"]?.string
        else { throw RightsError(.malformed, "the proof lacks jti, iat, htm, htu or ath") }
        guard htm == method.rawValue else { throw RightsError(.signature, "the proof is for another method") }
        guard let place = Self.place(htu), urls.contains(where: { Self.place($0) == place }) else {
            throw RightsError(.signature, "the proof is for another address")
        }
        guard ath == Self.digest(ofToken: token) else { throw RightsError(.signature, "the proof is for another token") }
        guard (now - Self.tolerance)...(now + Self.tolerance) ~= issuedAt else {
            throw RightsError(.expired, "the proof is older or newer than five minutes: set the clock by /v1/license/time")
        }
        self.key = key
        self.id = id
        self.issuedAt = issuedAt
        digest = SHA256.hash(Array(text.utf8).rawSpan)
    }

    private static func digest(ofToken token: String) -> String {
        Base64URL.encode(SHA256.hash(Array(token.utf8).rawSpan))
    }

    /// A URL normalized for comparison (RFC 9449 §4.3, RFC 3986 §6.2): lower-case scheme and host, no default port, no trailing
    /// slash; nil for anything else, and for a URL with a query or a fragment.
    private static func place(_ url: String) -> String? {
        guard url.utf8.count <= 2048, let address = ServiceAddress(url), ["http", "https"].contains(address.scheme) else {
            return nil
        }
        var authority = address.rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        var path = address.rest.dropFirst(authority.count)
        guard !path.contains("?"), !path.contains("#") else { return nil }
        let port = address.scheme == "https" ? ":443" : ":80"
        if authority.hasSuffix(port) { authority = authority.dropLast(port.count) }
        if path.hasSuffix("/") { path = path.dropLast() }
        return "\(address.scheme)://\(authority.lowercased())\(path)"
    }
}
