// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelHome
import CarrelServer
import CarrelServerTesting
import Testing

struct `An edition's credentials` {
    private let credentials = EditionCredentials(secrets: [secret(1)])
    private let now = Instant(milliseconds: 1_800_000_000_000)

    private static func secret(_ id: UInt8, from: Instant = Instant(milliseconds: 0)) -> SigningSecret {
        SigningSecret(id: id, secret: Secret([UInt8](repeating: id, count: 32)), signsFrom: from)
    }

    private func pair(_ product: String = "issue-1", life: Duration = .seconds(100)) -> EditionCredentials.Pair {
        credentials.issue(product: product, account: "alice", serial: 7, at: now, life: life)
    }

    @Test func `say what is needed, and nothing of whom they were made for`() throws {
        let pair = pair()
        let verified = try credentials.verify(pair, product: "issue-1", at: now)
        #expect(verified.serial == 7)
        #expect(verified.expiresAt == now + .seconds(100))
        #expect(credentials.tags(of: "alice") == [verified.tag])
        #expect(credentials.tags(of: "bob") != [verified.tag])
        #expect(!pair.userID.contains(":"))
        #expect(self.pair() != pair, "each pair is another")
    }

    @Test func `reveal nothing in their user name`() throws {
        let (first, second) = (pair(), pair())
        let (one, other) = (try #require(Base64URL.decode(first.userID)), try #require(Base64URL.decode(second.userID)))
        let verified = try credentials.verify(first, product: "issue-1", at: now)
        var secrets: [[UInt8]] = [[], [], []]
        secrets[0].append(bigEndian: UInt32(verified.expiresAt.milliseconds / 1000))
        secrets[1].append(bigEndian: verified.serial)
        secrets[2].append(bigEndian: verified.tag)
        for secret in secrets {
            for start in 0...(one.count - secret.count) { #expect(Array(one[start..<start + secret.count]) != secret) }
        }
        // Two pairs of one account and one end have nothing in common but the version and the secret's id.
        #expect(one.count == 30 && first.userID.utf8.count == 40, "apps have room for it")
        #expect(one[..<2] == other[..<2])
        #expect(zip(one[2...], other[2...]).count { $0 == $1 } < 8)
        // One bit of what is sealed changes the user name, and so the password.
        var altered = one
        altered[29] ^= 1
        let forged = EditionCredentials.Pair(userID: Base64URL.encode(altered), password: first.password)
        #expect(throws: EditionCredentials.Refusal.invalid) { try credentials.verify(forged, product: "issue-1", at: now) }
    }

    @Test func `have a nonce of their own each, on however many threads they are made`() async throws {
        let nonces = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<4 { group.addTask { (0..<100).map { _ in String(pair().userID.prefix(18)) } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(nonces).count == 400)
    }

    /// As 0.1 made them, from the same secret.
    @Test func `of the form before open until they end`() throws {
        func key(_ purpose: String) -> HMACSHA256 {
            let secret = Secret([UInt8](repeating: 1, count: 32))
            return HMACSHA256(key: HKDF.sha256(secret: secret, salt: [], info: "carrel edition \(purpose)", count: 32))
        }
        let end = now + .seconds(100)
        var bytes: [UInt8] = [1, 1]
        bytes.append(bigEndian: UInt32(end.milliseconds / 1000))
        bytes.append(bigEndian: UInt32(7))
        bytes += key("tag").authenticate(Array("alice".utf8).rawSpan)[..<8]
        bytes += [UInt8](repeating: 9, count: 12)
        let userID = Base64URL.encode(bytes)
        var message = Array("edition-cred".utf8)
        for field in ["issue-1", userID] {
            message.append(bigEndian: UInt32(field.utf8.count))
            message += field.utf8
        }
        let password = Base64URL.encode(key("password").authenticate(message.rawSpan))
        let old = EditionCredentials.Pair(userID: userID, password: password)
        #expect(EditionCredentials.hasForm(old))
        let verified = try credentials.verify(old, product: "issue-1", at: now)
        #expect(verified.serial == 7 && verified.expiresAt == end && credentials.tags(of: "alice") == [verified.tag])
        #expect(throws: EditionCredentials.Refusal.expired) { try credentials.verify(old, product: "issue-1", at: end) }
        // It cannot be turned into one of the other form.
        let other = EditionCredentials.Pair(userID: Base64URL.encode([2] + bytes.dropFirst()), password: password)
        #expect(throws: EditionCredentials.Refusal.invalid) { try credentials.verify(other, product: "issue-1", at: now) }
    }

    @Test(arguments: ["", "a:b", "issue-1:", "é", "a\u{0}b", String(repeating: "x", count: 10_000)])
    func `open their product and no other`(product: String) throws {
        let pair = pair(product)
        #expect(throws: Never.self) { try credentials.verify(pair, product: product, at: now) }
        for other in ["issue-1", product + "x", product + ":", String(product.dropLast())] where other != product {
            #expect(throws: EditionCredentials.Refusal.invalid) { try credentials.verify(pair, product: other, at: now) }
        }
    }

    @Test func `end to the second`() {
        let pair = pair()
        #expect(throws: Never.self) {
            try credentials.verify(pair, product: "issue-1", at: now + .milliseconds(99_999))
        }
        #expect(throws: EditionCredentials.Refusal.expired) {
            try credentials.verify(pair, product: "issue-1", at: now + .seconds(100))
        }
    }

    @Test func `are worth nothing under another secret, and outlive a new one`() throws {
        let (old, new) = (Self.secret(1), Self.secret(2, from: now + .seconds(5)))
        let pair = pair()
        #expect(throws: EditionCredentials.Refusal.invalid) {
            try EditionCredentials(secrets: [new]).verify(pair, product: "issue-1", at: now)
        }
        let both = EditionCredentials(secrets: [new, old])
        #expect(throws: Never.self) { try both.verify(pair, product: "issue-1", at: now) }
        let early = both.issue(product: "issue-1", account: "alice", serial: 7, at: now, life: .seconds(100))
        #expect(throws: Never.self, "the new secret does not sign yet") {
            try credentials.verify(early, product: "issue-1", at: now)
        }
        let fresh = both.issue(product: "issue-1", account: "alice", serial: 7, at: now + .seconds(5), life: .seconds(100))
        #expect(throws: EditionCredentials.Refusal.invalid) { try credentials.verify(fresh, product: "issue-1", at: now) }
        #expect(throws: Never.self) { try both.verify(fresh, product: "issue-1", at: now) }
    }

    @Test func `have a form that no user's name and password can have`() throws {
        let pair = pair()
        let bytes = try #require(Base64URL.decode(pair.userID))
        let made = EditionCredentials.Pair(userID: pair.userID, password: Base64URL.encode(bytes + [1, 2]))
        #expect(EditionCredentials.hasForm(pair) && EditionCredentials.hasForm(made), "genuine or not")
        let (long, odd) = (pair.userID + "A", String(repeating: "!", count: 43))
        for (userID, password) in [
            ("", ""), ("alice", "secret"), (String(pair.userID.dropLast()), pair.password), (long, pair.password),
            (pair.userID, String(pair.password.dropLast())), (pair.userID, pair.password + "A"), (pair.password, pair.userID),
            (Base64URL.encode([3] + bytes.dropFirst()), pair.password), (String(odd.prefix(40)), pair.password),
            (pair.userID, odd),
        ] {
            let other = EditionCredentials.Pair(userID: userID, password: password)
            #expect(!EditionCredentials.hasForm(other), "\(other)")
            #expect(throws: EditionCredentials.Refusal.invalid) { try credentials.verify(other, product: "issue-1", at: now) }
        }
        #expect(throws: EditionCredentials.Refusal.invalid) { try credentials.verify(made, product: "issue-1", at: now) }
    }

    @Test func `live no longer than a month`() throws {
        let long = pair(life: .seconds(400 * 24 * 3600))
        #expect(try credentials.verify(long, product: "issue-1", at: now).expiresAt == now + EditionCredentials.longestLife)
    }

    @Test func `are not feeds' passwords, nor the other way round`() {
        let (pair, feeds) = (pair(""), FeedPasswords(secret: Secret([UInt8](repeating: 1, count: 32))))
        #expect(!feeds.isRight(pair.password, of: pair.userID))
        let password = feeds.password(of: "token")
        #expect(feeds.isRight(password, of: "token"))
        #expect(!feeds.isRight(password, of: "tokem"))
        #expect(throws: EditionCredentials.Refusal.invalid) {
            try credentials.verify(EditionCredentials.Pair(userID: "token", password: password), product: "", at: now)
        }
    }

    /// One change to a pair: a character replaced, dropped, added, or a whole field made up.
    private func mutated(
        _ pair: EditionCredentials.Pair,
        _ generator: inout some RandomNumberGenerator
    ) -> EditionCredentials.Pair {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var fields = [Array(pair.userID.utf8), Array(pair.password.utf8)]
        let field = Int.random(in: 0...1, using: &generator)
        let place = Int.random(in: 0..<fields[field].count, using: &generator)
        let character = alphabet.randomElement(using: &generator) ?? 65
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: fields[field].remove(at: place)
        case 1: fields[field].insert(character, at: place)
        case 2: fields[field] = fields[field].map { _ in alphabet.randomElement(using: &generator) ?? 65 }
        default: fields[field][place] = character
        }
        return EditionCredentials.Pair(
            userID: String(decoding: fields[0], as: UTF8.self),
            password: String(decoding: fields[1], as: UTF8.self)
        )
    }

    @Test func `are refused when anything about them was changed`() {
        var generator = SystemRandomNumberGenerator()
        let genuine = pair()
        var accepted: [EditionCredentials.Pair] = []
        for _ in 0..<(longRun ? 10_000_000 : 50_000) {
            let forged = mutated(genuine, &generator)
            guard forged != genuine else { continue }
            if (try? credentials.verify(forged, product: "issue-1", at: now)) != nil { accepted.append(forged) }
        }
        #expect(accepted.isEmpty, "\(accepted.prefix(3))")
    }
}
