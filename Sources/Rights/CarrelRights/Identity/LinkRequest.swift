// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJOSE
import CarrelJSON

/// A player's request for a code, with which a signed-in reader links it to their account.
package struct LinkRequest: Sendable, Equatable {
    /// The id of the service's environment, which the request is for.
    package let environment: String
    /// The nonce of a challenge.
    package let nonce: String
    /// The time of the device's clock.
    package let clock: Instant

    package init(environment: String, nonce: String, clock: Instant) {
        self.environment = environment
        self.nonce = nonce
        self.clock = clock
    }

    /// Signs the request.
    ///
    /// - Parameters:
    ///   - certificate: the thumbprint of the player's certificate, which names the key.
    ///   - sign: signs with the player's key, R and S.
    /// - Returns: the text to send.
    /// - Throws: an error of `sign`.
    package func signed(certificate: [UInt8], sign: ([UInt8]) async throws -> [UInt8]) async throws -> String {
        let payload: JSON = ["aud": .string(environment), "nonce": .string(nonce), "iat": clock.numericDate]
        let unsigned = TypedJWS.Unsigned(
            RightsMessage.link,
            keyID: Base64URL.encode(certificate),
            payload: payload.write()
        )
        return unsigned.signed(try await sign(unsigned.input))
    }

    /// A request that was read and not yet verified.
    package struct Unverified: Sendable {
        /// The thumbprint of the certificate of the signing key.
        package let certificate: [UInt8]
        private let message: TypedJWS.Unverified

        /// - Throws: `rights.malformed`.
        package init(_ text: String) throws(RightsError) {
            message = try RightsMessage.read(text, as: RightsMessage.link)
            guard let certificate = message.keyID.flatMap({ Base64URL.decode($0) }), certificate.count == SHA256.byteCount else {
                throw RightsError(.malformed, "the request names no certificate")
            }
            self.certificate = certificate
        }

        /// The request, when the key of the player's certificate signed it.
        ///
        /// - Parameters:
        ///   - key: the certificate's.
        ///   - environment: the service's own.
        /// - Returns: the request.
        /// - Throws: `rights.signature`, `rights.malformed`.
        package func verified(by key: P256.PublicKey, environment: String) throws(RightsError) -> LinkRequest {
            let bytes: [UInt8]
            do throws(JOSEError) {
                bytes = try message.verified(by: .p256(key))
            } catch {
                throw RightsError(.signature, "the request was not signed with the key of the player's certificate")
            }
            let json = try RightsMessage.json(bytes)
            guard let audience = json["aud"]?.string, let nonce = json["nonce"]?.string, nonce.utf8.count <= 256,
                let clock = json.instant("iat")
            else { throw RightsError(.malformed, "the request for a code cannot be read") }
            guard audience == environment else { throw RightsError(.signature, "the request is for another service") }
            return LinkRequest(environment: audience, nonce: nonce, clock: clock)
        }
    }
}
