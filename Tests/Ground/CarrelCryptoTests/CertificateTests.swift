// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import Testing

struct `A certificate` {
    private static let day = Instant.parse("2026-06-01T00:00:00Z") ?? Instant(milliseconds: 0)

    /// A root, an intermediate and a leaf, with what a test changes.
    private struct Chain {
        let root: Certificate
        let intermediate: Certificate
        let leaf: Certificate
        let roots: CertificateRoots

        init(
            _ files: TestCertificates,
            root rootEnd: String = "20380101000000Z",
            intermediate extensions: String = TestCertificates.authority,
            leaf leafExtensions: String = TestCertificates.signer,
            digest: String = "sha256",
            leafKey: TestCertificates.Key = .p256
        ) async throws {
            root = try Certificate(
                der: try await files.make("root", extensions: TestCertificates.authority, key: .p384, until: rootEnd)
            )
            intermediate = try Certificate(
                der: try await files.make(
                    "intermediate",
                    by: "root",
                    extensions: extensions,
                    key: .p384,
                    until: "20300101000000Z"
                )
            )
            leaf = try Certificate(
                der: try await files.make("leaf", by: "intermediate", extensions: leafExtensions, key: leafKey, digest: digest)
            )
            roots = try CertificateRoots([root])
        }
    }

    @Test func `is trusted through an intermediate to the root, while all of them are valid`() async throws {
        let chain = try await Chain(try TestCertificates())
        try chain.roots.verify(chain.leaf, through: [chain.intermediate], at: Self.day)
        try chain.roots.verify(chain.leaf, through: [chain.intermediate, chain.root], at: Self.day)
        for instant in ["2025-12-31T23:59:59Z", "2028-01-01T00:00:01Z", "2037-01-01T00:00:00Z"] {
            let instant = try #require(Instant.parse(instant))
            #expect(throws: CryptoError(.untrusted), "\(instant)") {
                try chain.roots.verify(chain.leaf, through: [chain.intermediate], at: instant)
            }
        }
        #expect(throws: CryptoError(.untrusted)) { try chain.roots.verify(chain.leaf, through: [], at: Self.day) }
    }

    @Test func `tells by which others it is trusted, not which came along`() async throws {
        let files = try TestCertificates()
        let chain = try await Chain(files, intermediate: TestCertificates.authority + "\n1.2.3.4 = ASN1:NULL")
        let marked = TestCertificates.authority + "\n1.2.3.5 = ASN1:NULL"
        let bystander = try Certificate(der: try await files.make("bystander", by: "root", extensions: marked, key: .p384))
        let path = try chain.roots.verify(chain.leaf, through: [bystander, chain.intermediate], at: Self.day)
        #expect(path.count == 3)
        #expect(path.map { $0.hasExtension("1.2.3.4") } == [false, true, false])
        #expect(path.allSatisfy { !$0.hasExtension("1.2.3.5") })
        #expect(path[0].maySign && !path[1].maySign && !path[2].maySign)
    }

    @Test func `is not trusted under another root of the same name`() async throws {
        let (chain, other) = (try await Chain(try TestCertificates()), try await Chain(try TestCertificates()))
        #expect(throws: CryptoError(.untrusted)) {
            try other.roots.verify(chain.leaf, through: [chain.intermediate], at: Self.day)
        }
        #expect(throws: CryptoError(.untrusted)) {
            try other.roots.verify(chain.leaf, through: [chain.intermediate, chain.root], at: Self.day)
        }
    }

    @Test func `is not trusted through a certificate that is not an authority`() async throws {
        let chain = try await Chain(try TestCertificates(), intermediate: TestCertificates.signer)
        #expect(throws: CryptoError(.untrusted)) {
            try chain.roots.verify(chain.leaf, through: [chain.intermediate], at: Self.day)
        }
    }

    @Test func `is not trusted with a weak digest or a weak key`() async throws {
        let weakDigest = try await Chain(try TestCertificates(), digest: "sha1")
        #expect(throws: CryptoError(.untrusted)) {
            try weakDigest.roots.verify(weakDigest.leaf, through: [weakDigest.intermediate], at: Self.day)
        }
        let weakKey = try await Chain(try TestCertificates(), leafKey: .rsa(bits: 1024))
        #expect(throws: CryptoError(.untrusted)) {
            try weakKey.roots.verify(weakKey.leaf, through: [weakKey.intermediate], at: Self.day)
        }
        #expect(throws: CryptoError(.key)) { try weakKey.leaf.publicKey() }
    }

    @Test func `tells its extensions and what it is for`() async throws {
        let marker = "1.2.840.113635.100.6.11.1"
        let files = try TestCertificates()
        let chain = try await Chain(files, leaf: TestCertificates.signer + "\n\(marker) = ASN1:NULL")
        #expect(chain.leaf.hasExtension(marker))
        #expect(!chain.intermediate.hasExtension(marker))
        #expect(!chain.leaf.hasExtension("1.2.840.113635.100.6.11") && !chain.leaf.hasExtension("rubbish"))
        #expect(chain.leaf.maySign)
        #expect(!chain.intermediate.maySign && !chain.root.maySign)
        let server = "basicConstraints = CA:FALSE\nkeyUsage = keyEncipherment"
        #expect(!(try Certificate(der: try await files.make("server", by: "root", extensions: server)).maySign))
    }

    @Test func `is read whole or not at all`() async throws {
        let der = try await TestCertificates().make("lonely", extensions: TestCertificates.signer)
        _ = try Certificate(der: der)
        for bytes in [[], [0x30], der + [0], Array(der.dropLast()), [UInt8](repeating: 0x30, count: 20_000)] {
            #expect(throws: CryptoError(.certificate)) { try Certificate(der: bytes) }
        }
    }

    @Test func `without any, nothing can be trusted`() {
        #expect(throws: CryptoError(.certificate)) { try CertificateRoots([]) }
    }
}

struct `A public key` {
    @Test(arguments: [TestCertificates.Key.p256, .rsa(bits: 2048), .rsa(bits: 4096)])
    func `checks what openssl signed`(kind: TestCertificates.Key) async throws {
        let files = try TestCertificates()
        let der = try await files.make("signer", extensions: TestCertificates.signer, key: kind)
        let key = try Certificate(der: der).publicKey()
        let message = bytes(1000)
        let signature = try await files.sign(message, with: "signer")
        let isRight = key.isValid(derSignature: signature, for: message.rawSpan)
        #expect(isRight)
        for index in [0, 1, 40, signature.count - 1] {
            var other = signature
            other[index] ^= 1
            let isAccepted = key.isValid(derSignature: other, for: message.rawSpan)
            #expect(!isAccepted, "byte \(index)")
        }
        var changed = message
        changed[999] ^= 0x80
        let (isAccepted, isEmptyAccepted) = (
            key.isValid(derSignature: signature, for: changed.rawSpan), key.isValid([], for: message.rawSpan)
        )
        #expect(!isAccepted && !isEmptyAccepted)
    }

    @Test(arguments: [TestCertificates.Key.p384, .rsa(bits: 1024)])
    func `is of an accepted kind`(kind: TestCertificates.Key) async throws {
        let der = try await TestCertificates().make("signer", extensions: TestCertificates.signer, key: kind)
        let certificate = try Certificate(der: der)
        #expect(throws: CryptoError(.key)) { try certificate.publicKey() }
    }

    @Test func `is on its curve`() {
        #expect(throws: CryptoError(.key)) { try PublicKey.p256(x: bytes(32), y: bytes(32)) }
        #expect(throws: CryptoError(.key)) { try PublicKey.p256(x: bytes(31), y: bytes(32)) }
    }

    @Test(arguments: [[], [1], [4], [UInt8](repeating: 3, count: 9)])
    func `has an exponent that makes sense`(exponent: [UInt8]) {
        let modulus = [UInt8](repeating: 0xff, count: 256)
        #expect(throws: CryptoError(.key)) { try PublicKey.rsa(modulus: modulus, exponent: exponent) }
    }
}
