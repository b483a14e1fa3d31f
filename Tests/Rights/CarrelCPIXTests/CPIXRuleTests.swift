// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCPIX
import CarrelRights
import Testing

struct `A usage rule` {
    private static let ids = CPIXSamples.ids

    private static func document(_ rules: CPIXRule...) -> CPIXDocument {
        var document = CPIXDocument(contentID: "c")
        document.keys = ids.map { CPIXKey($0, .clear(CPIXSamples.secrets[0])) }
        document.rules = rules
        return document
    }

    private static func rule(_ number: Int, _ change: (inout CPIXRule) -> Void = { _ in }) -> CPIXRule {
        var rule = CPIXRule(ids[number])
        change(&rule)
        return rule
    }

    private static let film = CPIXTrack(.video(pixels: 1920 * 1080, framesPerSecond: 50), named: "film")
    private static let sound = CPIXTrack(.audio(channels: 6), named: "sound")

    @Test func `without filters is for all tracks`() throws {
        for track in [Self.film, Self.sound, CPIXTrack(.other, named: "text")] {
            #expect(try Self.document(Self.rule(1)).keyID(for: track) == Self.ids[1])
        }
    }

    @Test func `needs one filter of each kind that it has`() throws {
        let document = Self.document(
            Self.rule(0) {
                $0.video = [.init(pixels: .init(nil, 100)), .init(pixels: .init(2_000_000, nil))]
                $0.labels = ["a", "b"]
            }
        )
        var film = Self.film
        #expect(try document.keyID(for: film) == nil)
        film.labels = ["b"]
        #expect(try document.keyID(for: film) == Self.ids[0])
        film.kind = .video(pixels: 1000, framesPerSecond: 50)
        #expect(try document.keyID(for: film) == nil)
        #expect(try document.keyID(for: Self.sound) == nil)
    }

    @Test func `with filters for pictures and for sound is for both`() throws {
        let all = Self.document(
            Self.rule(2) {
                $0.video = [.init(pixels: .init(nil, 1000)), .init(pixels: .init(2_000_000, nil))]
                $0.audio = [.init(1, 2), .init(6, nil)]
            }
        )
        #expect(try all.keyID(for: Self.film) == Self.ids[2] && all.keyID(for: Self.sound) == Self.ids[2])
        #expect(try all.keyID(for: CPIXTrack(.audio(channels: 4), named: "sound")) == nil)
        #expect(try all.keyID(for: CPIXTrack(.video(pixels: 2000, framesPerSecond: nil), named: "film")) == nil)
        #expect(try all.keyID(for: CPIXTrack(.other, named: "text")) == nil)
    }

    @Test func `decides by channels, bit rate, frame rate, range, gamut and period`() throws {
        let audio = Self.document(Self.rule(0) { $0.audio = [.init(1, 2)] }, Self.rule(1) { $0.audio = [.init(3, nil)] })
        #expect(try audio.keyID(for: Self.sound) == Self.ids[1])
        let rate = Self.document(
            Self.rule(0) {
                $0.video = [.init()]; $0.video[0].framesPerSecond = .init(nil, 30)
            },
            Self.rule(1) {
                $0.video = [.init()]; $0.video[0].framesPerSecond = .init(31, nil)
            }
        )
        #expect(try rate.keyID(for: Self.film) == Self.ids[1])
        var film = Self.film
        (film.isHDR, film.hasWideGamut, film.bitrate, film.period) = (true, false, 5_000_000, "p2")
        let range = Self.document(
            Self.rule(0) {
                $0.video = [.init()]; $0.video[0].isHDR = false
            },
            Self.rule(1) {
                $0.video = [.init()]; $0.video[0].isHDR = true; $0.video[0].hasWideGamut = false
            }
        )
        #expect(try range.keyID(for: film) == Self.ids[1])
        let bitrate = Self.document(Self.rule(2) { $0.bitrates = [.init(nil, 1000), .init(4_000_000, 6_000_000)] })
        #expect(try bitrate.keyID(for: film) == Self.ids[2])
        let period = Self.document(Self.rule(0) { $0.periods = ["p1"] }, Self.rule(2) { $0.periods = ["p2", "p3"] })
        #expect(try period.keyID(for: film) == Self.ids[2])
        #expect(try period.keyID(for: Self.film) == nil)
    }

    @Test func `that matches a track in addition to another one is an error`() throws {
        let document = Self.document(Self.rule(0) { $0.video = [.init()] }, Self.rule(1))
        let error = try #require(throws: CPIXError(.ambiguous)) { try document.keyID(for: Self.film) }
        #expect(error.message == "two usage rules match film: of the keys \(Self.ids[0].uuid) and \(Self.ids[1].uuid)")
        #expect(try document.keyID(for: Self.sound) == Self.ids[1])
    }

    @Test func `that depends on an unknown fact is an error`() throws {
        let document = Self.document(Self.rule(0) { $0.bitrates = [.init(1, 2)] })
        let error = try #require(throws: CPIXError(.ambiguous)) { try document.keyID(for: Self.film) }
        #expect(error.message.contains("depends on the bit rate of film, which is unknown"))
        let open = Self.document(Self.rule(0) { $0.bitrates = [.init()] })
        #expect(try open.keyID(for: Self.film) == Self.ids[0])
    }

    @Test func `is not needed for the only key`() throws {
        var document = Self.document()
        #expect(throws: CPIXError(.ambiguous)) { try document.keyID(for: Self.film) }
        document.keys = [document.keys[1]]
        #expect(try document.keyID(for: Self.film) == Self.ids[1])
        document.keys = []
        #expect(throws: CPIXError(.missingKey)) { try document.keyID(for: Self.film) }
    }
}
