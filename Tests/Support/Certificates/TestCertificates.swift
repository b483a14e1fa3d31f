// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Keys and certificates that the openssl command makes, in a directory of their own.
package struct TestCertificates: Sendable {
    /// The folder of each NAME.key, NAME.pem and NAME.der.
    package let directory = TemporaryDirectory()
    private let openSSL: String
    private let rsaKeys = BorrowedKeys()

    /// Skips the test where there is no openssl command.
    package init() throws { openSSL = try requirePeer("openssl") }

    /// A kind of key, in the terms of `openssl genpkey`.
    package enum Key: Sendable {
        case p256
        case p384
        case rsa(bits: Int)

        fileprivate var arguments: [String] {
            switch self {
            case .p256: ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case .p384: ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
            case .rsa(let bits): ["RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)"]
            }
        }
    }

    /// The extensions of an authority and of a signer (openssl's x509v3_config).
    package static let authority = "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign, cRLSign"
    package static let signer = "basicConstraints = critical, CA:FALSE\nkeyUsage = critical, digitalSignature"

    /// Makes a key pair. One of RSA takes long: it may have been one of another directory, which is gone.
    package func makeKey(_ name: String, _ key: Key = .p256) async throws {
        let used: Int? = if case .rsa(let bits) = key { bits } else { nil }
        if let used, let kept = rsaKeys.take(bits: used) {
            directory.write("\(name).key", kept)
            return
        }
        try await checkProcess([openSSL, "genpkey", "-quiet", "-out", file(name, "key"), "-algorithm"] + key.arguments)
        if let used, let made = directory.read("\(name).key") { rsaKeys.add(made, bits: used) }
    }

    /// Makes a key and a certificate for it.
    ///
    /// - Parameters:
    ///   - name: of the files and of the subject.
    ///   - issuer: who signs; nil for itself.
    ///   - extensions: lines of openssl's x509v3_config.
    ///   - key: of what kind.
    ///   - digest: what the issuer signs with.
    ///   - start: `YYYYMMDDHHMMSSZ`.
    ///   - end: the same.
    ///   - options: further ones of `openssl ca`.
    /// - Returns: the certificate in DER.
    /// - Throws: what openssl says.
    @discardableResult
    package func make(
        _ name: String,
        by issuer: String? = nil,
        extensions: String,
        key: Key = .p256,
        digest: String = "sha256",
        from start: String = "20260101000000Z",
        until end: String = "20280101000000Z",
        options: [String] = []
    ) async throws -> [UInt8] {
        try await makeKey(name, key)
        try await checkProcess(
            [openSSL, "req", "-new", "-key", file(name, "key"), "-subj", "/CN=\(name)", "-out", file(name, "csr")]
        )
        directory.write("\(name).db", "")
        directory.write("\(name).cnf", configuration(name, extensions))
        try await checkProcess(
            [
                openSSL, "ca", "-batch", "-notext", "-config", file(name, "cnf"), "-extensions", "ext",
                "-in", file(name, "csr"), "-out", file(name, "pem"), "-keyfile", file(issuer ?? name, "key"),
                "-startdate", start, "-enddate", end, "-md", digest,
            ] + options + (issuer.map { ["-cert", file($0, "pem")] } ?? ["-selfsign"])
        )
        try await checkProcess([openSSL, "x509", "-in", file(name, "pem"), "-outform", "DER", "-out", file(name, "der")])
        return directory.read("\(name).der") ?? []
    }

    /// A list of revoked certificates, in DER.
    ///
    /// - Parameters:
    ///   - revoked: names of certificates.
    ///   - signer: whose list it is.
    ///   - digest: that is signed with.
    ///   - start: when it says that it was made, `YYYYMMDDHHMMSSZ`; nil for now.
    ///   - options: further ones of `openssl ca`.
    ///   - extensions: the list's extensions, as lines of openssl's x509v3_config.
    /// - Returns: the list.
    /// - Throws: what openssl says.
    package func revocationList(
        _ revoked: [String] = [],
        by signer: String = "root",
        digest: String = "sha256",
        from start: String? = nil,
        options: [String] = [],
        extensions: String = ""
    ) async throws -> [UInt8] {
        let file = { directory.file($0) }
        directory.write("list.db", "")
        directory.write("list.db.attr", "")
        directory.write(
            "list.cnf",
            "[ca]\ndefault_ca = own\n[own]\ndatabase = \(file("list.db"))\ndefault_md = \(digest)\n"
                + (extensions.isEmpty ? "" : "crl_extensions = extensions\n[extensions]\n\(extensions)\n")
        )
        let base = ["ca", "-config", file("list.cnf"), "-keyfile", file("\(signer).key"), "-cert", file("\(signer).pem")]
        for name in revoked { _ = try await run(base + ["-revoke", file("\(name).pem")], input: []) }
        let dates = start.map { ["-crl_lastupdate", $0] } ?? []
        let list = try await run(base + ["-gencrl", "-crldays", "30"] + dates + options, input: [])
        return try await run(["crl", "-outform", "DER"], input: list)
    }

    /// Signs with SHA-256.
    ///
    /// - Returns: RSA's signature, or ECDSA's in DER.
    package func sign(_ message: [UInt8], with name: String) async throws -> [UInt8] {
        try await runProcess([openSSL, "dgst", "-sha256", "-sign", file(name, "key")], input: message).output
    }

    /// Runs the openssl command with an input.
    package func run(_ arguments: [String], input: [UInt8]) async throws -> [UInt8] {
        let result = try await runProcess([openSSL] + arguments, input: input)
        guard result.status.isSuccess else {
            throw ProcessError(.ended, "openssl ended with \(result.status): \(result.errorText)")
        }
        return result.output
    }

    /// A signed object in the compact form (RFC 7515 §7.1), under a key on P-256, or an RSA key.
    ///
    /// - Parameters:
    ///   - header: JSON, which should name the algorithm.
    ///   - payload: any text.
    ///   - name: the key's name.
    /// - Returns: the three parts.
    /// - Throws: what openssl says.
    package func jws(header: String, payload: String, with name: String) async throws -> String {
        let text = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(payload.utf8)))"
        var signature = try await sign(Array(text.utf8), with: name)
        if signature.count < 80 { signature = Self.pair(signature) }
        return "\(text).\(Base64URL.encode(signature))"
    }

    /// The package key of that name as the members of a JWK (RFC 7518 §6) for a key on P-256.
    package func p256(_ name: String) async throws -> (x: String, y: String) {
        let arguments = [openSSL, "pkey", "-in", file(name, "key"), "-pubout", "-outform", "DER"]
        let point = try await runProcess(arguments).output.suffix(64)
        return (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
    }

    /// R and S, 32 bytes each, of an ECDSA signature in DER.
    private static func pair(_ der: [UInt8]) -> [UInt8] {
        let first = Int(der[3])
        let (r, s) = (der[4..<4 + first], der[(6 + first)...])
        return [r, s].flatMap { number in
            let digits = number.drop { $0 == 0 }
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
    }

    private func file(_ name: String, _ ending: String) -> String { directory.file("\(name).\(ending)") }

    private func configuration(_ name: String, _ extensions: String) -> String {
        """
        [ca]
        default_ca = own
        [own]
        database = \(file(name, "db"))
        new_certs_dir = \(directory.path)
        rand_serial = yes
        policy = any
        [any]
        commonName = supplied
        [ext]
        \(extensions)

        """
    }
}
