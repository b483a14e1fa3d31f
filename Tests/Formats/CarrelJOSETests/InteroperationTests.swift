// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON
import CarrelTesting
import Testing

/// Objects of the protocol and two other implementations of JOSE: Debian's `jose` (libjose) and `python3-jwcrypto`.
struct `Objects of Carrel's protocol and other implementations` {
    enum Peer: String, CaseIterable, Sendable {
        case jose
        case jwcrypto
    }

    static let es256 = TypedJWS.Kind(type: "request+jwt", algorithm: .es256)
    static let edDSA = TypedJWS.Kind(type: "license+jwt", algorithm: .edDSA)
    static let payload = Array(#"{"jti":"1","content":"Blätter"}"#.utf8)
    static let context = Array("license|key".utf8)

    let directory = TemporaryDirectory()
    let key = P256.PrivateKey()
    let server = Ed25519.PrivateKey.generate()

    private var publicKey: JWK { .p256(key.publicKey) }

    /// The private key as JSON, which only the tests write.
    private func privateKey(_ jwk: JWK, _ secret: Secret) -> String {
        var object = jwk.json.object ?? [:]
        object["d"] = .string(secret.withBytes { Base64URL.encode([UInt8](copying: $0)) })
        return JSON.object(object).description
    }

    private func header(_ members: JSONObject) -> String {
        var all = members
        all["kid"] = .string(publicKey.thumbprint)
        return JSON.object(all).description
    }

    /// Runs a few lines of Python with jwcrypto; `words` are their `sys.argv`.
    private func jwcrypto(_ lines: String, _ words: String...) async throws -> String {
        let head = "import sys, json\nfrom jwcrypto import jwk, jws, jwe\n"
        // another Python than Debian's may be first
        for python in [try requirePeer("python3"), "/usr/bin/python3"] {
            guard try await runProcess([python, "-c", head]).status.isSuccess else { continue }
            return try await checkProcess([python, "-c", head + lines] + words)
        }
        try Test.cancel("python3-jwcrypto is not installed: nothing to test against")
    }

    private func verified(_ text: String, by key: JWK, in peer: Peer) async throws -> String {
        switch peer {
        case .jose:
            let file = directory.write("key.jwk", Array(key.json.description.utf8))
            return try await checkProcess(
                [try requirePeer("jose"), "jws", "ver", "-i", "-", "-k", file, "-O", "-"],
                input: Array(text.utf8)
            )
        case .jwcrypto:
            let lines = """
                token = jws.JWS()
                token.deserialize(sys.argv[1], jwk.JWK.from_json(sys.argv[2]))
                assert token.jose_header["typ"] == sys.argv[3]
                sys.stdout.buffer.write(token.payload)
                """
            let type = if case .p256 = key { Self.es256.type } else { Self.edDSA.type }
            return try await jwcrypto(lines, text, key.json.description, type)
        }
    }

    @Test(arguments: Peer.allCases)
    func `signed with ES256 are verified there, and altered ones are not`(peer: Peer) async throws {
        let text = TypedJWS.sign(Self.payload, as: Self.es256, with: key)
        #expect(try await verified(text, by: publicKey, in: peer) == String(decoding: Self.payload, as: UTF8.self))
        await #expect(throws: ProcessError.self) { try await verified(text, by: .p256(P256.PrivateKey().publicKey), in: peer) }
    }

    @Test func `signed with EdDSA are verified by jwcrypto, and altered ones are not`() async throws {
        let text = TypedJWS.sign(Self.payload, as: Self.edDSA, with: server)
        let read = try await verified(text, by: .ed25519(server.publicKey), in: .jwcrypto)
        #expect(read == String(decoding: Self.payload, as: UTF8.self))
        let other = JWK.ed25519(Ed25519.PrivateKey.generate().publicKey)
        await #expect(throws: ProcessError.self) { try await verified(text, by: other, in: .jwcrypto) }
    }

    @Test(arguments: Peer.allCases)
    func `signed there with ES256 are read here`(peer: Peer) async throws {
        let (secret, head) = (privateKey(publicKey, key.scalar), header(["alg": "ES256", "typ": .string(Self.es256.type)]))
        let text: String
        switch peer {
        case .jose:
            let file = directory.write("key.jwk", Array(secret.utf8))
            let template = JSON.object(["protected": .string(Base64URL.encode(Array(head.utf8)))]).description
            text = try await checkProcess(
                [try requirePeer("jose"), "jws", "sig", "-I", "-", "-k", file, "-s", template, "-c", "-o", "-"],
                input: Self.payload
            )
        case .jwcrypto:
            text = try await sign(head, secret)
        }
        let read = try TypedJWS.Unverified(text.trimmed, as: Self.es256)
        #expect(read.keyID == publicKey.thumbprint)
        #expect(try read.verified(by: publicKey) == Self.payload)
    }

    @Test func `signed by jwcrypto with EdDSA are read here`() async throws {
        let jwk = JWK.ed25519(server.publicKey)
        let text = try await sign(
            header(["alg": "EdDSA", "typ": .string(Self.edDSA.type)]),
            privateKey(jwk, server.seed)
        )
        #expect(try TypedJWS.Unverified(text.trimmed, as: Self.edDSA).verified(by: jwk) == Self.payload)
    }

    private func sign(_ header: String, _ key: String) async throws -> String {
        let lines = """
            token = jws.JWS(sys.argv[1].encode())
            token.add_signature(jwk.JWK.from_json(sys.argv[2]), protected=sys.argv[3])
            print(token.serialize(compact=True))
            """
        return try await jwcrypto(lines, String(decoding: Self.payload, as: UTF8.self), key, header)
    }

    @Test(arguments: Peer.allCases, JWE.Mode.allCases)
    func `encrypted here are opened there, with the other key they are not`(peer: Peer, mode: JWE.Mode) async throws {
        let text = JWE.encrypt(
            Self.payload.rawSpan,
            to: key.publicKey,
            type: "key+jwe",
            context: Self.context,
            mode: mode
        )
        let secret = privateKey(publicKey, key.scalar)
        #expect(try await opened(text, with: secret, in: peer) == String(decoding: Self.payload, as: UTF8.self))
        let other = P256.PrivateKey()
        let wrong = privateKey(.p256(other.publicKey), other.scalar)
        await #expect(throws: ProcessError.self) { try await opened(text, with: wrong, in: peer) }
    }

    private func opened(_ text: String, with key: String, in peer: Peer) async throws -> String {
        switch peer {
        case .jose:
            let file = directory.write("private.jwk", Array(key.utf8))
            return try await checkProcess(
                [try requirePeer("jose"), "jwe", "dec", "-i", "-", "-k", file, "-O", "-"],
                input: Array(text.utf8)
            )
        case .jwcrypto:
            let lines = """
                token = jwe.JWE(algs=["ECDH-ES", "ECDH-ES+A256KW", "A256GCM"])
                token.deserialize(sys.argv[1], jwk.JWK.from_json(sys.argv[2]))
                sys.stdout.buffer.write(token.payload)
                """
            return try await jwcrypto(lines, text, key)
        }
    }

    @Test(arguments: Peer.allCases, JWE.Mode.allCases)
    func `encrypted there are opened here, and for their context alone`(peer: Peer, mode: JWE.Mode) async throws {
        let head = header([
            "alg": .string(mode.rawValue), "enc": "A256GCM", "typ": "key+jwe", "apv": .string(Base64URL.encode(Self.context)),
            "apu": .string(Base64URL.encode(Array("sender".utf8))),
        ])
        let text: String
        switch peer {
        case .jose:
            let file = directory.write("public.jwk", Array(publicKey.json.description.utf8))
            let template = #"{"protected":\#(head)}"#
            text = try await checkProcess(
                [try requirePeer("jose"), "jwe", "enc", "-I", "-", "-k", file, "-i", template, "-c", "-o", "-"],
                input: Self.payload
            )
        case .jwcrypto:
            let lines = """
                token = jwe.JWE(sys.argv[1].encode(), protected=sys.argv[3], recipient=jwk.JWK.from_json(sys.argv[2]),
                    algs=["ECDH-ES", "ECDH-ES+A256KW", "A256GCM"])
                print(token.serialize(compact=True))
                """
            let plain = String(decoding: Self.payload, as: UTF8.self)
            text = try await jwcrypto(lines, plain, publicKey.json.description, head)
        }
        let sealed = try JWE.Sealed(text.trimmed, type: "key+jwe", context: Self.context)
        let opened = try sealed.open(sharedSecret: key.sharedSecret(with: sealed.ephemeral))
        #expect(opened == Secret(Self.payload) && sealed.keyID == publicKey.thumbprint)
        #expect(throws: JOSEError(.algorithm, "")) { try JWE.Sealed(text.trimmed, type: "key+jwe", context: [1]) }
    }

    @Test func `have keys with the thumbprints that others compute`() async throws {
        let file = directory.write("key.jwk", Array(publicKey.json.description.utf8))
        let thumbprint = try await checkProcess([try requirePeer("jose"), "jwk", "thp", "-i", file, "-a", "S256"])
        #expect(thumbprint.trimmed == publicKey.thumbprint)
        for jwk in [publicKey, .ed25519(server.publicKey)] {
            let print = try await jwcrypto("print(jwk.JWK.from_json(sys.argv[1]).thumbprint())", jwk.json.description)
            #expect(print.trimmed == jwk.thumbprint)
        }
    }
}

extension String {
    /// Without the line's end that programs write.
    fileprivate var trimmed: String { last == "\n" ? String(dropLast()) : self }
}
