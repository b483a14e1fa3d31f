// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

extension Certificate {
    /// The serial number, big-endian, without a sign; empty if it is negative.
    package var serial: [UInt8] {
        defer { ERR_clear_error() }
        guard let number = unsafe ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nil) else { return [] }
        defer { unsafe BN_free(number) }
        guard unsafe BN_is_negative(number) == 0 else { return [] }
        let count = (Int(unsafe BN_num_bits(number)) + 7) / 8
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = Int(unsafe BN_bn2bin(number, buffer.baseAddress))
        }
    }

    /// The subject's common name; nil if it has none, several, or one that is not text.
    package var commonName: String? {
        defer { ERR_clear_error() }
        let name = unsafe X509_get_subject_name(certificate)
        let index = unsafe X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        guard index >= 0, unsafe X509_NAME_get_index_by_NID(name, NID_commonName, index) < 0 else { return nil }
        let value = unsafe X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))
        var text: UnsafeMutablePointer<UInt8>?
        let count = Int(unsafe ASN1_STRING_to_UTF8(&text, value))
        guard count >= 0, let text = unsafe text else { return nil }
        defer { unsafe CRYPTO_free(text, nil, 0) }
        return unsafe String(validating: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// The encoding in DER, with its signature.
    package var der: [UInt8] {
        defer { ERR_clear_error() }
        let count = Int(unsafe i2d_X509(certificate, nil))
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var cursor = buffer.baseAddress
            filled = Int(unsafe i2d_X509(certificate, &cursor))
        }
    }

    /// The SHA-256 digest of its encoding, as `x5t#S256` names it (RFC 7515 §4.1.8).
    package var thumbprint: [UInt8] { SHA256.hash(der.rawSpan) }

    /// The one URI among its alternative names; nil if there is none, or more than one name.
    package var identifier: String? {
        guard let value = value(ofExtension: "2.5.29.17"), let names = DER.content(0x30, value),
            let uri = DER.content(0x86, names)
        else { return nil }
        return String(validating: uri, as: UTF8.self)
    }

    /// The description of the subject among its attributes (RFC 4519 §2.5, RFC 5280 §4.2.1.8); nil if there is none, or more than
    /// that.
    package var subjectDescription: String? {
        let type = DER.objectIdentifier(Self.descriptionType)
        guard let value = value(ofExtension: "2.5.29.9"), let list = DER.content(0x30, value),
            let attribute = DER.content(0x30, list), attribute.starts(with: type),
            let values = DER.content(0x31, Array(attribute.dropFirst(type.count))), let text = DER.content(0x0c, values)
        else { return nil }
        return String(validating: text, as: UTF8.self)
    }

    /// The key of a certificate in DER, as its `SubjectPublicKeyInfo`, without reading the rest: for certificates that were
    /// verified before, because the library takes longer to read one than to verify a signature.
    ///
    /// - Throws: `crypto.certificate`.
    package static func subjectPublicKeyInfo(ofKnown der: [UInt8]) throws(CryptoError) -> [UInt8] {
        // version, serial number, algorithm, issuer, validity and subject are before it (RFC 5280 §4.1)
        let tags: [UInt8] = [0xa0, 0x02, 0x30, 0x30, 0x30, 0x30, 0x30]
        guard let certificate = DER.value(at: 0, of: der), der[0] == 0x30,
            let body = DER.value(at: certificate.content.lowerBound, of: der), der[certificate.content.lowerBound] == 0x30
        else { throw CryptoError(.certificate, "a certificate cannot be read") }
        var position = body.content.lowerBound
        for (number, tag) in tags.enumerated() {
            guard position < body.content.upperBound, der[position] == tag, let value = DER.value(at: position, of: der) else {
                throw CryptoError(.certificate, "a certificate cannot be read")
            }
            if number == tags.count - 1 { return Array(der[position..<value.content.upperBound]) }
            position = value.content.upperBound
        }
        throw CryptoError(.certificate, "a certificate has no key")
    }

    static let descriptionType = "2.5.4.13"

    private func value(ofExtension identifier: String) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let index = unsafe X509_get_ext_by_OBJ(certificate, object, -1)
        guard index >= 0, let entry = unsafe X509_get_ext(certificate, index), let data = unsafe X509_EXTENSION_get_data(entry)
        else {
            return nil
        }
        let count = Int(unsafe ASN1_STRING_length(data))
        return unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(data), count: count))
    }
}

extension DER {
    /// The content of a value that fills `bytes`; nil for another tag, and for a length that does not fit.
    static func content(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 2, bytes[0] == tag else { return nil }
        let content = Array(bytes.dropFirst(bytes[1] < 0x80 ? 2 : 2 + Int(bytes[1] & 0x7f)))
        return value(tag, content) == bytes ? content : nil
    }

    /// The value that begins at a place; nil unless it lies within `bytes`.
    static func value(at position: Int, of bytes: [UInt8]) -> (tag: UInt8, content: Range<Int>)? {
        guard position + 2 <= bytes.count else { return nil }
        var (start, count) = (position + 2, Int(bytes[position + 1]))
        if count >= 0x80 {
            let digits = count - 0x80
            guard 1...3 ~= digits, start + digits <= bytes.count else { return nil }
            count = bytes[start..<start + digits].reduce(0) { $0 << 8 | Int($1) }
            start += digits
        }
        guard start + count <= bytes.count else { return nil }
        return (bytes[position], start..<start + count)
    }
}
