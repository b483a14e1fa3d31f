// SPDX-License-Identifier: Apache-2.0

import CRightsLoops
import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelRights

/// Reads and decrypts a CPIX document of 1,000 keys, next to libxml2 and the same OpenSSL calls in C. The certificate is in DER, the
/// private key in PEM.
func measureDocuments(certificate: [UInt8], key pem: [UInt8]) async throws {
    var document = CPIXDocument(contentID: "film")
    document.keys = (0..<1000).map { CPIXKey(KeyID(label: "\($0)"), .clear(.random(count: 16)), scheme: "cbcs") }
    document.rules = document.keys.map { CPIXRule($0.id, trackType: "VIDEO") }
    let xml = try document.write(as: .v23, to: [Certificate(der: certificate)])
    let key = try RSAPrivateKey(file: Secret(pem), password: Secret([]))
    let read = try CPIXDocument(reading: xml.rawSpan)
    let wrapped = (document: read.recipients[0].documentKey ?? [], mac: read.recipients[0].macKey ?? [])
    var (ciphers, codes): ([UInt8], [UInt8]) = ([], [])
    for case .encrypted(let cipher, let code?) in read.keys.map(\.value) {
        ciphers += cipher
        codes += code
    }
    let text = xml.map { CChar(bitPattern: $0) }
    try await report("CPIX of 1,000 keys, read and decrypted", times: 1) {
        let opened = try CPIXDocument(reading: xml.rawSpan).decrypted(by: key)
        guard opened.keys.allSatisfy({ $0.secret != nil }) else { fatalError("a key is missing") }
    } floor: {
        let right = unsafe text.withUnsafeBufferPointer { text in
            unsafe pem.withUnsafeBufferPointer { pem in
                unsafe wrapped.document.withUnsafeBufferPointer { documentKey in
                    unsafe wrapped.mac.withUnsafeBufferPointer { macKey in
                        unsafe ciphers.withUnsafeBufferPointer { ciphers in
                            unsafe codes.withUnsafeBufferPointer { codes -> Int32 in
                                guard let text = text.baseAddress, let start = pem.baseAddress,
                                    let documentKey = documentKey.baseAddress,
                                    let macKey = macKey.baseAddress, let ciphers = ciphers.baseAddress,
                                    let codes = codes.baseAddress
                                else { return 0 }
                                var parts = unsafe cpix_document(
                                    xml: text,
                                    xml_count: xml.count,
                                    pem: start,
                                    pem_count: pem.count,
                                    document_key: documentKey,
                                    mac_key: macKey,
                                    wrapped_count: wrapped.document.count,
                                    ciphers: ciphers,
                                    codes: codes,
                                    cipher_count: 48,
                                    keys: read.keys.count
                                )
                                return unsafe cpix_loop(&parts, 1)
                            }
                        }
                    }
                }
            }
        }
        guard right == 1 else { fatalError("the loop failed") }
    }
}
