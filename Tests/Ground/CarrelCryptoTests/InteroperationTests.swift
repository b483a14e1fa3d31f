// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import Testing

/// Requests for certificates, certificates and lists of revoked ones, and what the `openssl` command makes of them.
struct `Certificates of an authority and openssl` {
    let openSSL: String
    let directory = TemporaryDirectory()
    let authorities: `An authority`

    init() throws {
        openSSL = try requirePeer("openssl")
        authorities = try `An authority`()
    }

    @Test func `agree on a request that is made here`() async throws {
        let device = P256.PrivateKey()
        let request = try await CertificationRequest.make(commonName: "player", publicKey: device.publicKey) {
            device.sign($0.rawSpan)
        }
        let check = [openSSL, "req", "-inform", "DER", "-verify", "-noout", "-subject"]
        let good = try await runProcess(check, input: request)
        #expect(good.status.isSuccess && good.errorText.contains("verify OK") && good.text.contains("CN = player"))
        var altered = request
        altered[request.count - 1] ^= 1
        let bad = try await runProcess(check, input: altered)
        #expect(!bad.errorText.contains("verify OK"))
    }

    @Test func `agree on a request that openssl makes`() async throws {
        let key = directory.file("key")
        let new = [openSSL, "req", "-new", "-nodes", "-subj", "/CN=other/O=name", "-outform", "DER", "-keyout", key]
        func make(_ options: String...) async throws -> [UInt8] { try await runProcess(new + options).output }
        let der = try await make(
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-addext",
            "basicConstraints=CA:TRUE"
        )
        let info = try await runProcess([openSSL, "pkey", "-in", key, "-pubout", "-outform", "DER"]).output
        #expect(try CertificationRequest(der: der).publicKey.subjectPublicKeyInfo == info)
        for options in [["-newkey", "rsa:2048"], ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"]] {
            let other = try await runProcess(new + options).output
            #expect(!other.isEmpty)
            #expect(throws: CryptoError(.request, "")) { try CertificationRequest(der: other) }
        }
    }

    @Test func `agree strictly on a chain, and on its lists of revoked certificates`() async throws {
        let (device, other) = (try authorities.issue(), try authorities.issue())
        func list(_ authority: CertificateAuthority, _ revoked: [[UInt8]]) -> [UInt8] {
            authority.revocationList(
                number: 3,
                revoked: revoked.map { .init(serial: $0, instant: `An authority`.now) },
                thisUpdate: `An authority`.now,
                nextUpdate: `An authority`.now + .seconds(3600)
            )
        }
        let root = directory.write("root.pem", Array(Certificate.pem(authorities.root.certificate).utf8))
        let below = directory.write("devices.pem", Array(Certificate.pem(authorities.authority.certificate).utf8))
        var lists = ""
        for der in [list(authorities.root, []), list(authorities.authority, [other.serial])] {
            lists += try await checkProcess([openSSL, "crl", "-inform", "DER"], input: der)
        }
        let listFile = directory.write("lists.pem", Array(lists.utf8))
        let seconds = String(`An authority`.now.milliseconds / 1000 + 1)
        func verify(_ certificate: Certificate) async throws -> ProcessResult {
            let file = directory.write("device.pem", Array(Certificate.pem(certificate.der).utf8))
            return try await runProcess([
                openSSL, "verify", "-x509_strict", "-attime", seconds, "-purpose", "sslclient", "-crl_check_all", "-CRLfile",
                listFile, "-CAfile", root, "-untrusted", below, file,
            ])
        }
        let good = try await verify(device)
        #expect(good.status.isSuccess && good.text.contains(": OK"), "\(good.errorText)")
        let revoked = try await verify(other)
        #expect(!revoked.status.isSuccess && revoked.errorText.contains("certificate revoked"), "\(revoked.errorText)")
    }
}
