// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// Elements of documents.
enum CPIXElement {
    static func cpix(
        _ name: String,
        _ attributes: KeyValuePairs<String, String?> = [:],
        children: [XMLElement] = [],
        text: String = ""
    ) -> XMLElement {
        element(name, CPIXNamespace.cpix, attributes, children, text)
    }

    static func pskc(_ name: String, children: [XMLElement]) -> XMLElement {
        element(name, CPIXNamespace.pskc, [:], children, "")
    }

    static func pskc(_ name: String, base64 bytes: [UInt8]) -> XMLElement {
        element(name, CPIXNamespace.pskc, [:], [], Base64.encode(bytes))
    }

    /// `ds:X509Data` with one certificate.
    static func certificate(_ der: [UInt8]) -> XMLElement {
        let certificate = element("X509Certificate", CPIXNamespace.signature, [:], [], Base64.encode(der))
        return element("X509Data", CPIXNamespace.signature, [:], [certificate], "")
    }

    /// The content of an encrypted value: its algorithm and cipher text (XML Encryption 1.1 §3.1).
    static func encrypted(_ cipher: [UInt8], _ algorithm: String) -> [XMLElement] {
        let value = element("CipherValue", CPIXNamespace.encryption, [:], [], Base64.encode(cipher))
        return [
            element("EncryptionMethod", CPIXNamespace.encryption, ["Algorithm": algorithm], [], ""),
            element("CipherData", CPIXNamespace.encryption, [:], [value], ""),
        ]
    }

    private static func element(
        _ name: String,
        _ namespace: StaticString,
        _ attributes: KeyValuePairs<String, String?>,
        _ children: [XMLElement],
        _ text: String
    ) -> XMLElement {
        XMLElement(
            XMLName(name, namespace: "\(namespace)"),
            attributes: attributes.compactMap { name, value in value.map { XMLAttribute(XMLName(name), $0) } },
            children: children,
            text: text
        )
    }
}
