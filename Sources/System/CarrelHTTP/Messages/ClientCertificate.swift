// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The certificate of a request's client. It does not identify a known client: the handler must decide that.
package enum ClientCertificate: Sendable, Hashable {
    /// The client has its key, as the TLS handshake proved, and an authority that the listener trusts vouches for it. In DER.
    case verified([UInt8])
    /// The client showed a certificate that no trusted authority vouches for, or whose time is not now.
    case untrusted
    /// A proxy that the operator named says that its client proved to have the certificate's key (RFC 9440). In DER.
    case forwarded([UInt8])

    /// The longest certificate that is taken, in bytes.
    package static let maxByteCount = 16_384

    /// Reads the field `Client-Cert` (RFC 9440 §2.2): one byte sequence (RFC 8941 §3.3.5), the certificate in DER.
    ///
    /// - Throws: 400 for more than one field, and for every other text.
    package init?(forwardedIn headers: HTTPFields) throws(HTTPError) {
        let fields = headers.values("Client-Cert")
        guard let field = fields.first else { return nil }
        let text = field.utf8
        guard fields.count == 1, text.count > 2, text.count <= Self.maxByteCount / 3 * 4 + 6, text.first == UInt8(ascii: ":"),
            text.last == UInt8(ascii: ":"), let bytes = Base64.decode(field.dropFirst().dropLast()), !bytes.isEmpty
        else {
            throw HTTPError(
                .badRequest,
                "http.client-certificate",
                "Client-Cert must be one certificate in DER as a byte sequence"
            )
        }
        self = .forwarded(bytes)
    }
}
