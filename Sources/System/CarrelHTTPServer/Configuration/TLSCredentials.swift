// SPDX-License-Identifier: Apache-2.0

import CMicroHTTPD
import CarrelBytes
import CarrelHTTP
internal import CarrelThreads

/// A ``TLSIdentity`` as GnuTLS has it. Connections hold those that they began with.
@safe
final class TLSCredentials: @unchecked Sendable {  // GnuTLS only reads them after `init`
    private let raw: gnutls_certificate_credentials_t

    /// - Throws: `server.tls` for a certificate, a key or authorities that cannot be read or do not belong together.
    init(_ identity: TLSIdentity) throws(HTTPServerError) {
        let key = TLSCertificate(identity)
        let credentials = unsafe key.withCStrings { key, chain, _ in
            unsafe identity.clientAuthorities.withCString { trust -> gnutls_certificate_credentials_t? in
                guard let key = unsafe key, let chain = unsafe chain else { return nil }
                return unsafe cmhd_credentials(chain, key, trust)
            }
        }
        guard let credentials = unsafe credentials else {
            throw HTTPServerError(.tls, "the certificate, its key and the authorities of clients cannot be used together")
        }
        unsafe raw = credentials
    }

    deinit {
        unsafe gnutls_certificate_free_credentials(raw)
    }

    /// Lets a connection use them; before its handshake.
    func use(for connection: OpaquePointer) -> Bool { unsafe cmhd_use(connection, raw) }
}

/// A ``ClientCertificateListener`` as its workers share it.
final class ClientCertificateSite: Sendable {
    let router: Router
    private let current: Locked<TLSCredentials>

    init(_ listener: ClientCertificateListener) throws(HTTPServerError) {
        router = listener.router
        current = Locked(try TLSCredentials(listener.identity))
    }

    /// For connections that begin now.
    var credentials: TLSCredentials { current.withLock { $0 } }

    func replace(_ identity: TLSIdentity) throws(HTTPServerError) {
        let credentials = try TLSCredentials(identity)
        current.withLock { $0 = credentials }
    }
}
