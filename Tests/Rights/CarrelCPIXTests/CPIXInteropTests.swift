// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelCrypto
import CarrelRights
import CarrelTesting
import Testing

/// Programs of others read what Carrel writes.
struct `Other programs` {
    /// Reads a document with the Python package `cpix`, which `scripts/setup` installs; prints a line for each key, rule and period.
    private static let reader = """
        import sys, base64, warnings
        warnings.simplefilter("ignore")
        import cpix
        document = cpix.parse(sys.stdin.buffer.read())
        print(document.content_id, document.version)
        for key in document.content_keys:
            print("key", key.kid, base64.b64decode(key.cek).hex(), key.common_encryption_scheme)
        for rule in document.usage_rules:
            print("rule", rule.kid, rule.intended_track_type, len(list(rule)))
        for period in document.periods:
            print("period", period.id, period.index)
        """

    /// Decrypts a document with the Python package `cryptography`, and verifies the code of each key.
    private static let decrypter = """
        import sys, base64, hmac, xml.etree.ElementTree as ET
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        from cryptography.x509 import load_der_x509_certificate
        private = serialization.load_pem_private_key(open(sys.argv[1], "rb").read(), None)
        names = {"c": "urn:dashif:org:cpix", "p": "urn:ietf:params:xml:ns:keyprov:pskc",
                 "d": "http://www.w3.org/2000/09/xmldsig#", "e": "http://www.w3.org/2001/04/xmlenc#"}
        root = ET.fromstring(sys.stdin.buffer.read())
        delivery = root.find(".//c:DeliveryData", names)
        certificate = load_der_x509_certificate(base64.b64decode(delivery.find(".//d:X509Certificate", names).text))
        assert certificate.public_key().public_numbers() == private.public_key().public_numbers()
        def unwrap(path):
            wrapped = base64.b64decode(delivery.find(path + "//e:CipherValue", names).text)
            oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
            return private.decrypt(wrapped, oaep)
        document, mac = unwrap("c:DocumentKey"), unwrap("c:MACMethod")
        for key in root.findall(".//c:ContentKey", names):
            cipher = base64.b64decode(key.find(".//e:CipherValue", names).text)
            code = base64.b64decode(key.find(".//p:ValueMAC", names).text)
            assert hmac.compare_digest(code, hmac.new(mac, cipher, "sha512").digest())
            decryptor = Cipher(algorithms.AES(document), modes.CBC(cipher[:16])).decryptor()
            plain = decryptor.update(cipher[16:]) + decryptor.finalize()
            print(key.get("kid"), plain[:-plain[-1]].hex())
        """

    @Test func `read a document in the clear (PyPI's cpix)`() async throws {
        let python = try PythonPeer.path("cpix")
        var document = CPIXSamples.full
        // it knows no system that is not registered
        document.systems = []
        // nor a period with both an index and times
        (document.periods[0].start, document.periods[0].end) = (nil, nil)
        let output = try await checkProcess([python, "-c", Self.reader], input: document.write(as: .v23))
        let keys = zip(CPIXSamples.ids, CPIXSamples.secrets).map { "key \($0.uuid) \(CPIXSamples.hex($1) ?? "") cbcs" }
        let expected =
            ["book & film <1> 2.3"] + keys
            + ["rule \(CPIXSamples.ids[0].uuid) HD 4", "rule \(CPIXSamples.ids[1].uuid) AUDIO 2", "period p1 1"]
        #expect(output.split(separator: "\n").map(String.init) == expected)
    }

    @Test func `decrypt the keys (python3-cryptography)`() async throws {
        let python = try requirePeer("python3")
        guard try await runProcess([python, "-c", "import cryptography"]).status == .exited(0) else {
            try Test.cancel("python3-cryptography is not installed: nothing to test against")
        }
        let certificates = try TestCertificates()
        let certificate = try Certificate(
            der: await certificates.make("packager", extensions: TestCertificates.signer, key: .rsa(bits: 3072))
        )
        let output = try await checkProcess(
            [python, "-c", Self.decrypter, "\(certificates.directory.path)/packager.key"],
            input: CPIXSamples.full.write(as: .v23, to: [certificate])
        )
        let expected = zip(CPIXSamples.ids, CPIXSamples.secrets).map { "\($0.uuid) \(CPIXSamples.hex($1) ?? "")" }
        #expect(output.split(separator: "\n").map(String.init) == expected)
    }
}
