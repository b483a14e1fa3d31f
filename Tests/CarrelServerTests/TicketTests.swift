import CarrelBytes
import CarrelCrypto
import CarrelServer
import Testing

struct `Tickets in addresses` {
    private let order = "106d9ba0-125c-4b44-a410-2889d53f42bd"
    private let now = Instant(milliseconds: 1_800_000_000_000)
    private let tickets = Tickets(secrets: [1: Secret([UInt8](repeating: 7, count: 32))])

    @Test func `are 28 characters and open what they were issued for until they expire`() {
        let expires = now + .milliseconds(60_000)
        let ticket = tickets.issue(.segment, order: order, expires: expires)
        #expect(ticket.utf8.count == Tickets.length)
        #expect(tickets.verify(ticket, .segment, order: order, at: now))
        #expect(tickets.verify(ticket, .segment, order: order, at: expires - .milliseconds(1)))
        #expect(!tickets.verify(ticket, .segment, order: order, at: expires))
    }

    @Test func `open nothing else`() {
        let ticket = tickets.issue(.segment, order: order, expires: now + .milliseconds(60_000))
        #expect(!tickets.verify(ticket, .key, order: order, at: now), "a segment's ticket is not a key's")
        #expect(!tickets.verify(ticket, .segment, order: "3e132725-d0cd-4c78-bf0b-960f4f0b2a45", at: now))
        let others = Tickets(secrets: [1: Secret([UInt8](repeating: 8, count: 32))])
        #expect(!others.verify(ticket, .segment, order: order, at: now), "another server's secret")
    }

    @Test func `keep verifying under an older secret and are issued under the newest`() {
        let old = tickets.issue(.key, order: order, expires: now + .milliseconds(60_000))
        let both = Tickets(secrets: [
            1: Secret([UInt8](repeating: 7, count: 32)), 2: Secret([UInt8](repeating: 9, count: 32)),
        ])
        #expect(both.verify(old, .key, order: order, at: now))
        let new = both.issue(.key, order: order, expires: now + .milliseconds(60_000))
        #expect(new != old)
        #expect(!tickets.verify(new, .key, order: order, at: now))
    }

    @Test func `stay the same for a while, so that playlists do`() {
        let life: Int64 = 24 * 3_600_000
        let first = Tickets.expiry(at: now, life: life)
        #expect(first.milliseconds - now.milliseconds >= life)
        #expect(first.milliseconds - now.milliseconds <= life + life / 4)
        var changes = 0
        for minute in 0..<(6 * 60) where Tickets.expiry(at: now + .milliseconds(Int64(minute) * 60_000), life: life) != first {
            changes = 1
        }
        #expect(changes <= 1)
        #expect(Tickets.expiry(at: now + .milliseconds(7 * 3_600_000), life: life) > first)
    }

    /// A million changed or invented tickets: none opens anything.
    @Test func `cannot be forged by changing them`() {
        let genuine = tickets.issue(.segment, order: order, expires: now + .milliseconds(60_000))
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var random = SystemRandomNumberGenerator()
        var accepted = 0
        let rounds = longRun ? 1_000_000 : 50_000
        for round in 0..<rounds {
            var bytes = Array(genuine.utf8)
            if round % 2 == 0 {
                for _ in 0...Int.random(in: 0..<4, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = alphabet.randomElement(using: &random) ?? 65
                }
            } else {
                for i in bytes.indices { bytes[i] = alphabet.randomElement(using: &random) ?? 65 }
            }
            let forged = String(decoding: bytes, as: UTF8.self)
            if forged != genuine, tickets.verify(forged, .segment, order: order, at: now) { accepted += 1 }
        }
        #expect(accepted == 0)
        for length in 0..<60 where length != 28 {
            #expect(!tickets.verify(String(repeating: "A", count: length), .segment, order: order, at: now))
        }
    }
}
