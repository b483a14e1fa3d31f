// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHome
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

struct `Tickets in addresses` {
    private let order = "106d9ba0-125c-4b44-a410-2889d53f42bd"
    private let now = Instant(milliseconds: 1_800_000_000_000)
    private let tickets = Tickets(secrets: [secret(1, 7)])

    private static func secret(_ id: UInt8, _ byte: UInt8, from: Int64 = 0) -> SigningSecret {
        SigningSecret(
            id: id,
            secret: Secret([UInt8](repeating: byte, count: 32)),
            signsFrom: Instant(milliseconds: from)
        )
    }

    private var window: Tickets.Window { Tickets.Window(opens: now, expires: now + .seconds(60)) }

    @Test func `are 28 characters and open what they were issued for until they expire`() {
        let expires = window.expires
        let ticket = tickets.issue(.segment, order: order, in: window)
        #expect(ticket.utf8.count == Tickets.length)
        #expect(tickets.verify(ticket, .segment, order: order, at: now))
        #expect(tickets.verify(ticket, .segment, order: order, at: expires - .milliseconds(1)))
        #expect(!tickets.verify(ticket, .segment, order: order, at: expires))
    }

    @Test func `open nothing else`() {
        let ticket = tickets.issue(.segment, order: order, in: window)
        #expect(!tickets.verify(ticket, .key, order: order, at: now), "a segment's ticket is not a key's")
        #expect(!tickets.verify(ticket, .segment, order: "3e132725-d0cd-4c78-bf0b-960f4f0b2a45", at: now))
        let others = Tickets(secrets: [Self.secret(1, 8)])
        #expect(!others.verify(ticket, .segment, order: order, at: now), "another server's secret")
    }

    @Test func `keep verifying under an older secret and are issued under the newest`() {
        let old = tickets.issue(.key, order: order, in: window)
        let both = Tickets(secrets: [Self.secret(2, 9, from: now.milliseconds), Self.secret(1, 7)])
        #expect(both.verify(old, .key, order: order, at: now))
        let new = both.issue(.key, order: order, in: window)
        #expect(new != old)
        #expect(!tickets.verify(new, .key, order: order, at: now))
    }

    @Test func `change secrets only between two windows`() {
        let both = Tickets(secrets: [Self.secret(1, 7), Self.secret(2, 9, from: now.milliseconds + 1)])
        #expect(both.issue(.key, order: order, in: window) == tickets.issue(.key, order: order, in: window))
        let next = Tickets.Window(opens: now + .milliseconds(1), expires: now + .seconds(90))
        #expect(both.issue(.key, order: order, in: next) != tickets.issue(.key, order: order, in: next))
        let late = Tickets(secrets: [Self.secret(2, 9, from: .max)])
        let ticket = late.issue(.key, order: order, in: window)
        #expect(late.verify(ticket, .key, order: order, at: now), "the only secret signs, whatever its time")
    }

    @Test(arguments: [60_000, 3_600_000, 24 * 3_600_000] as [Int64])
    func `stay the same for a while, so that playlists do`(life: Int64) {
        let first = Tickets.Window(at: now, life: life)
        let length = Tickets.Window.length(life: life)
        #expect(first.expires.milliseconds - now.milliseconds >= life)
        #expect(first.expires.milliseconds - now.milliseconds < life + length)
        let opens = first.opens
        #expect(Tickets.Window(at: opens, life: life).expires == first.expires - .milliseconds(length))
        #expect(Tickets.Window(at: opens + .milliseconds(1), life: life) == first)
        #expect(Tickets.Window(at: opens + .milliseconds(length), life: life) == first)
        #expect(Tickets.Window(at: opens + .milliseconds(length + 1), life: life).opens == opens + .milliseconds(length))
    }

    /// A million changed or invented tickets: none opens anything.
    @Test func `cannot be forged by changing them`() {
        let genuine = tickets.issue(.segment, order: order, in: window)
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
