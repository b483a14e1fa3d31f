// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
package import CarrelHTTP

/// A certificate with its key, and the authorities whose certificates of clients are trusted, all in PEM.
package struct TLSIdentity: Sendable {
    /// The certificate and those that signed it, in that order.
    package let certificate: String
    /// The private key, not encrypted.
    package let key: Secret
    /// The authorities of clients; at least one.
    package let clientAuthorities: String

    package init(certificate: String, key: Secret, clientAuthorities: String) {
        self.certificate = certificate
        self.key = key
        self.clientAuthorities = clientAuthorities
    }
}

/// A listener with TLS that requests client certificates, and serves only its own routes.
///
/// A client may have no certificate, or an untrusted one: handlers check ``HTTPRequest/clientCertificate``.
package struct ClientCertificateListener: Sendable {
    /// A numeric address.
    package let address: String
    /// 0 for any free port.
    package let port: UInt16
    package let identity: TLSIdentity
    package let router: Router

    package init(address: String, port: UInt16, identity: TLSIdentity, router: Router) {
        self.address = address
        self.port = port
        self.identity = identity
        self.router = router
    }
}
