// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto

extension JWS.Unverified {
    /// Verifies the object with the first of its own certificates (`x5c`, RFC 7515 §4.1.6), which must lead to a trusted root.
    ///
    /// - Parameters:
    ///   - roots: the trusted roots.
    ///   - instant: the instant at which the certificates must be valid.
    ///   - leafMarker: an extension that the signer's certificate must have.
    ///   - intermediateMarker: an extension that the issuing certificate must have, which is then the only one below the root.
    /// - Returns: the object.
    /// - Throws: `jose.certificate` for the certificates, `jose.algorithm`, `jose.signature`.
    package func verified(
        through roots: CertificateRoots,
        at instant: Instant,
        leafMarker: String? = nil,
        intermediateMarker: String? = nil
    ) throws(JOSEError) -> JWS.Verified {
        guard !header.certificates.isEmpty else { throw JOSEError(.certificate, "it brings no certificate") }
        let key: PublicKey
        do throws(CryptoError) {
            var chain: [Certificate] = []
            for bytes in header.certificates { chain.append(try Certificate(der: bytes)) }
            try roots.verify(
                signer: chain[0],
                through: Array(chain.dropFirst()),
                at: instant,
                leafMarker: leafMarker,
                intermediateMarker: intermediateMarker
            )
            key = try chain[0].publicKey()
        } catch {
            throw JOSEError(.certificate, error.description)
        }
        return try verified(by: key)
    }
}
