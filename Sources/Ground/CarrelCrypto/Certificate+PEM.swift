// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension Certificate {
    /// The certificates in a file: one in DER, or any number in PEM (RFC 7468 §5).
    ///
    /// - Throws: `crypto.certificate` if there is none, or one cannot be read.
    package static func all(in bytes: [UInt8]) throws(CryptoError) -> [Certificate] {
        if bytes.first == 0x30 { return [try Certificate(der: bytes)] }
        guard let objects = PEM.objects("CERTIFICATE", in: bytes) else {
            throw CryptoError(.certificate, "a certificate's base 64 cannot be read")
        }
        guard !objects.isEmpty else { throw CryptoError(.certificate, "there is no certificate in the file") }
        var certificates: [Certificate] = []
        for object in objects { certificates.append(try Certificate(der: object)) }
        return certificates
    }

    /// A certificate in PEM (RFC 7468 §5), lines of 64 characters.
    package static func pem(_ der: [UInt8]) -> String { PEM.text("CERTIFICATE", der) }
}

extension RevocationList {
    /// A list in PEM (RFC 7468 §6), lines of 64 characters.
    package static func pem(_ der: [UInt8]) -> String { PEM.text("X509 CRL", der) }
}
