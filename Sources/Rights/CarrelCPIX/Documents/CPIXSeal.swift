// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelXML

/// The random keys that encrypt the content keys of one document (CPIX 2.3 §7.2).
struct CPIXSeal: ~Copyable {
    private let documentKey = Secret.random(count: 32)
    private let macKey = Secret.random(count: HMACSHA512.byteCount)
    private var mac: HMACSHA512

    init() {
        mac = HMACSHA512(key: macKey)
    }

    /// The elements `DocumentKey` and `MACMethod` of a recipient.
    ///
    /// - Throws: `cpix.recipient` if its key cannot encrypt.
    func elements(for certificate: Certificate) throws(CPIXError) -> [XMLElement] {
        do throws(CryptoError) {
            let wrapped = (document: try certificate.encrypt(documentKey), mac: try certificate.encrypt(macKey))
            let secret = CPIXElement.pskc(
                "Secret",
                children: [
                    CPIXElement.pskc(
                        "EncryptedValue",
                        children: CPIXElement.encrypted(wrapped.document, CPIXAlgorithm.keyTransport)
                    )
                ]
            )
            return [
                CPIXElement.cpix("DocumentKey", children: [CPIXElement.cpix("Data", children: [secret])]),
                CPIXElement.cpix(
                    "MACMethod",
                    ["Algorithm": CPIXAlgorithm.mac],
                    children: [CPIXElement.cpix("Key", children: CPIXElement.encrypted(wrapped.mac, CPIXAlgorithm.keyTransport))]
                ),
            ]
        } catch {
            throw CPIXError(.recipient, "a recipient's key cannot encrypt: \(error.message)")
        }
    }

    /// The element `Data` of a content key.
    mutating func data(_ key: Secret) throws(CPIXError) -> XMLElement {
        let cipher: [UInt8]
        do throws(CryptoError) {
            cipher = try XMLEncryption.encrypt(key, key: documentKey, iv: Random.bytes(16))
        } catch {
            throw CPIXError(.algorithm, "a key cannot be encrypted: \(error.message)")
        }
        let code = mac.authenticate(cipher.rawSpan)
        let secret = CPIXElement.pskc(
            "Secret",
            children: [
                CPIXElement.pskc("EncryptedValue", children: CPIXElement.encrypted(cipher, CPIXAlgorithm.cipher)),
                CPIXElement.pskc("ValueMAC", base64: code),
            ]
        )
        return CPIXElement.cpix("Data", children: [secret])
    }

    /// The element `Data` of a content key in the clear.
    static func clearData(_ key: Secret) -> XMLElement {
        let value = key.withBytes { CPIXElement.pskc("PlainValue", base64: [UInt8](copying: $0)) }
        return CPIXElement.cpix("Data", children: [CPIXElement.pskc("Secret", children: [value])])
    }
}
