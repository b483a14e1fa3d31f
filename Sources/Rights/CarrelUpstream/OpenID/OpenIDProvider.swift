// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// The endpoints of a provider, from its metadata (OpenID Connect Discovery 1.0 §3).
struct OpenIDProvider: Sendable {
    /// The longest response of a provider that is read, in bytes.
    static let maxAnswerBytes = 256 << 10

    let authorizationEndpoint: String
    let tokenEndpoint: String
    let keySetAddress: String
    /// Whether the client ID and secret are sent in the form, because the provider does not support Basic authentication.
    let takesSecretInForm: Bool
    /// Whether every response to the browser must name the issuer (RFC 9207 §3).
    let namesItself: Bool

    /// Reads the provider's metadata document.
    ///
    /// - Parameters:
    ///   - bytes: the document.
    ///   - issuer: the expected issuer.
    /// - Throws: `upstream.answer` if it is not a metadata document, `upstream.untrusted` if its issuer differs,
    ///   `upstream.unsupported` if the provider lacks a required feature.
    init(_ bytes: [UInt8], of issuer: String) throws(UpstreamError) {
        guard
            let object = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 16, byteCount: Self.maxAnswerBytes))
                .object
        else { throw UpstreamError(.answer, "the provider's description is no JSON object") }
        guard object["issuer"]?.string == issuer else {
            throw UpstreamError(.untrusted, "the provider's metadata name a different issuer")
        }
        func address(_ name: String) throws(UpstreamError) -> String {
            guard let text = object[name]?.string else { throw UpstreamError(.answer, "the provider does not tell its \(name)") }
            try UpstreamAddress.check(text)
            return text
        }
        /// Whether a list has one of the words; a list that is missing has `fallback`.
        func has(_ name: String, _ words: Set<String>, else fallback: Bool) -> Bool {
            guard let list = object[name]?.array else { return fallback }
            return list.contains { $0.string.map(words.contains) ?? false }
        }
        authorizationEndpoint = try address("authorization_endpoint")
        tokenEndpoint = try address("token_endpoint")
        keySetAddress = try address("jwks_uri")
        guard has("response_types_supported", ["code"], else: true),
            has("code_challenge_methods_supported", ["S256"], else: true),
            has("id_token_signing_alg_values_supported", ["RS256", "ES256"], else: true)
        else { throw UpstreamError(.unsupported, "the provider lacks the code flow, PKCE with S256, or RS256 and ES256") }
        let methods = "token_endpoint_auth_methods_supported"
        takesSecretInForm =
            !has(methods, ["client_secret_basic"], else: true) && has(methods, ["client_secret_post"], else: false)
        namesItself = object["authorization_response_iss_parameter_supported"]?.bool ?? false
    }
}
