// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH
import CarrelHLS
import CarrelMedia
import CarrelTesting
import Testing

/// Keys of a license that limits the size of pictures.
private struct LimitedKeys: ContentKeySource {
    func key(_ name: ContentKeyName) -> ContentKeyAnswer {
        .granted(ContentKeyGrant(key: [UInt8](repeating: 7, count: 16), maxPixels: 1000, end: ContentKeyEnd()))
    }
}

struct `A license that limits the size of pictures` {
    /// Sizes, and whether the license allows them: a license allows 1000 pixels.
    private static let sizes: [(pixels: Int?, isAllowed: Bool)] = [(nil, false), (1001, false), (1000, true), (0, true)]

    private static func code(_ body: () async throws -> Void) async throws -> MediaError.Code? {
        do { try await body() } catch let error as MediaError { return error.code }
        return nil
    }

    @Test func `refuses segments that are encrypted as a whole`() async throws {
        let line = EncryptionKey(uri: "https://keys.example/1")
        for (pixels, isAllowed) in Self.sizes {
            let code = try await Self.code {
                _ = try await MediaSegmentDecrypter(line, segment: 1, keys: LimitedKeys(), pixels: pixels)
            }
            #expect(code == (isAllowed ? nil : .outputControl), "\(String(describing: pixels))")
        }
    }

    @Test func `refuses segments that an MPD declares as encrypted as a whole`() async throws {
        var encryption = MPDSegmentEncryption()
        var period = MPDSegmentEncryption.Period()
        period.keyURITemplate = "https://keys.example/$Number$"
        encryption.periods = [period]
        let values = URLTemplate.Values(representationID: "v", bandwidth: 1, number: 1)
        for (pixels, isAllowed) in Self.sizes {
            let code = try await Self.code {
                _ = try await MediaSegmentDecrypter(
                    encryption,
                    segment: 0,
                    values: values,
                    keys: LimitedKeys(),
                    pixels: pixels
                )
            }
            #expect(code == (isAllowed ? nil : .outputControl), "\(String(describing: pixels))")
        }
    }

    @Test func `measures whole fragments by their initialization section`() async throws {
        // its pictures are larger than the license allows
        let movie = try Fixtures.bytes("media/src/av-h264-aac.mp4")
        let line = EncryptionKey(uri: "https://keys.example/1")
        let code = try await Self.code {
            _ = try await MediaSegmentDecrypter(line, segment: 1, initialization: movie, keys: LimitedKeys(), pixels: 0)
        }
        #expect(code == .outputControl)
    }

    @Test func `refuses encrypted samples of transport streams`() async throws {
        let line = EncryptionKey(method: .sampleAES, uri: "https://keys.example/1")
        let packet = [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 0xff, count: 184)
        for (pixels, isAllowed) in Self.sizes {
            let code = try await Self.code {
                var decrypter = try await MediaSegmentDecrypter(line, segment: 1, keys: LimitedKeys(), pixels: pixels)
                var sink = BytesSink()
                try await decrypter.decrypt(packet.rawSpan, to: &sink)
            }
            #expect(code == (isAllowed ? nil : .outputControl), "\(String(describing: pixels))")
        }
    }
}

struct `A chain of key sources` {
    /// A source that records what it is asked for.
    private final class Recorder: ContentKeySource {
        private let known: ContentKeyName?
        private let names = RecordedNames()

        init(_ known: ContentKeyName?) {
            self.known = known
        }

        func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
            await names.add(name)
            return name == known ? .granted(ContentKeyGrant(key: [UInt8](repeating: 1, count: 16))) : .unknown
        }

        var asked: [ContentKeyName] { get async { await names.names } }
    }

    private actor RecordedNames {
        private(set) var names: [ContentKeyName] = []

        func add(_ name: ContentKeyName) { names.append(name) }
    }

    @Test func `asks one source for all names before the next`() async {
        let (first, second) = (Recorder(.track(1)), Recorder(.content("cid:film")))
        let chain = ContentKeySources([first, second])
        let (answer, name) = await chain.key(anyOf: [.content("cid:film"), .track(1)])
        guard case .granted = answer else {
            Issue.record("no key")
            return
        }
        #expect(name == .track(1))
        #expect(await first.asked == [.content("cid:film"), .track(1)])
        #expect(await second.asked.isEmpty)
        #expect(await chain.key(anyOf: [.content("cid:film")]).name == .content("cid:film"))
        #expect(await chain.key(anyOf: [.content("cid:other")]).name == nil)
    }

    @Test func `lets a key for everything come before a later source`() async throws {
        var given = GivenKeys()
        try given.add("*:000102030405060708090a0b0c0d0e0f")
        let later = Recorder(.content("urn:x"))
        let stream = try await MediaStream.open(
            FileSource(path: try Fixtures.path("media/dcf/note.ctr.dcf")),
            as: .dcf(),
            keys: ContentKeySources([given, later])
        )
        await stream.close()
        #expect(await later.asked.isEmpty)
    }
}
