import CarrelBytes

extension Certificate {
    /// The certificates in a file: one in DER, or any number in PEM (RFC 7468 §5).
    ///
    /// - Throws: `crypto.certificate` when there is none, or one cannot be read.
    public static func all(in bytes: [UInt8]) throws(CryptoError) -> [Certificate] {
        if bytes.first == 0x30 { return [try Certificate(der: bytes)] }
        var certificates: [Certificate] = []
        var body: String?
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            switch line {
            case "-----BEGIN CERTIFICATE-----": body = ""
            case "-----END CERTIFICATE-----":
                guard let der = body.flatMap({ Base64.decode($0) }) else {
                    throw CryptoError(.certificate, "a certificate's base 64 cannot be read")
                }
                certificates.append(try Certificate(der: der))
                body = nil
            default: body?.append(contentsOf: line)
            }
        }
        guard !certificates.isEmpty, body == nil else { throw CryptoError(.certificate, "there is no certificate in the file") }
        return certificates
    }
}
