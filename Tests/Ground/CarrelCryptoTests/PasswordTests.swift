// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import Testing

@testable import CarrelPasswordHash

struct `A password hash` {
    @Test func `has the tag of RFC 9106 §5.3`() throws {
        let tag = try Argon2id.derive(
            Secret([UInt8](repeating: 1, count: 32)),
            [UInt8](repeating: 2, count: 16),
            Argon2id.Parameters(memory: 32, passes: 3),
            count: 32,
            secret: [UInt8](repeating: 3, count: 8),
            associatedData: [UInt8](repeating: 4, count: 12),
            lanes: 4
        )
        #expect(Hex.encode(tag) == "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659")
    }

    private let cheap = Argon2id.Parameters(memory: 64, passes: 1)

    @Test func `knows the password again, and no other`() throws {
        let hash = try Argon2id.hash(Secret(Array("correct horse".utf8)), cheap)
        let read = try #require(Argon2id.Hash(hash.text))
        #expect(read == hash)
        #expect(try Argon2id.verify(Secret(Array("correct horse".utf8)), against: read))
        #expect(try !Argon2id.verify(Secret(Array("correct horsf".utf8)), against: read))
        #expect(try !Argon2id.verify(Secret([]), against: read))
    }

    @Test func `salts every hash afresh`() throws {
        let password = Secret(Array("twice".utf8))
        #expect(try Argon2id.hash(password, cheap) != Argon2id.hash(password, cheap))
    }

    @Test func `lets no password be a decoy's`() throws {
        #expect(try !Argon2id.verify(Secret([]), against: .decoy(cheap)))
    }

    @Test(
        arguments: [
            "", "$argon2id$v=19$m=64,t=1,p=1$AAECAwQFBgc$", "$argon2i$v=19$m=64,t=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
            "$argon2id$v=16$m=64,t=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
            "$argon2id$v=19$m=262145,t=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
            "$argon2id$v=19$m=064,t=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
            "$argon2id$v=19$m=64,t=17,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
            "$argon2id$v=19$m=64,t=1,p=2$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw",
            "$argon2id$v=19$m=64,t=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0OD-",
            "$argon2id$v=19$m=64,t=1,p=1$AAECAwQFBgc$AAECAwQFBgcICQoLDA0ODw$",
        ]
    )
    func `reads nothing but its own strings`(text: String) {
        #expect(Argon2id.Hash(text) == nil)
    }
}
