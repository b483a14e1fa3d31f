// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

private typealias Movie = ProtectedMovie

/// Files that the builder makes, encrypted by the reference, and read in every way.
struct `Files of Common Encryption` {
    /// A movie, and how it differs from others.
    struct Made: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var movie: @Sendable () -> ProtectedMovie
    }

    private static func made(_ name: String, _ change: @escaping @Sendable (inout ProtectedMovie) -> Void) -> Made {
        Made(testDescription: name) {
            var movie = Movie()
            movie.samples = Movie.samples(7, hasParts: false)
            change(&movie)
            return movie
        }
    }

    static let schemes: [Made] = [("cenc", false), ("cens", true), ("cbc1", false), ("cbcs", true)].flatMap {
        scheme,
        hasPattern in
        (hasPattern ? [(0, 0), (1, 9), (5, 5), (10, 0), (2, 8), (15, 15)] : [(0, 0)] as [(UInt8, UInt8)]).flatMap { crypt, skip in
            [false, true].map { hasParts in
                made("\(scheme) \(crypt):\(skip)\(hasParts ? " in parts" : "")") { movie in
                    movie.scheme = scheme
                    movie.defaults.crypt = crypt
                    movie.defaults.skip = skip
                    movie.samples = Movie.samples(UInt64(crypt) + 1, hasParts: hasParts)
                }
            }
        }
    }

    static let parameters: [Made] = [
        made("vectors of 16 bytes") { $0.defaults.ivSize = 16 },
        made("vectors of 16 bytes, in parts") {
            $0.defaults.ivSize = 16
            $0.samples = Movie.samples(3, hasParts: true)
        },
        made("vectors of 16 bytes that wrap after 256 blocks") {
            $0.defaults.ivSize = 16
            $0.lastVectorByte = 0
            $0.samples = Movie.samples(11, hasParts: false, [5000, 4096, 9003, 4097])
        },
        made("vectors of 16 bytes that wrap after 256 blocks, in parts") {
            $0.defaults.ivSize = 16
            $0.lastVectorByte = 0
            $0.samples = Movie.samples(12, hasParts: true, [20_000, 14_096, 19_003, 14_097])
        },
        made("selective encryption whose clear samples have vectors") { movie in
            movie.defaults.ivSize = 16
            movie.samples = Movie.samples(13, hasParts: true)
            movie.groups = [ProtectedMovie.Parameters(key: 1, isProtected: false, clearVectorSize: 16)]
            for i in movie.samples.indices { movie.samples[i].group = i % 4 == 0 ? 0 : 1 }
        },
        made("tenc version 0") { $0.version = 0 },
        made("a constant vector of 16 bytes") {
            $0.scheme = "cbcs"
            $0.defaults.ivSize = 0
            $0.defaults.constantIV = Array(1...16)
            $0.information = .nowhere
        },
        made("a constant vector of 8 bytes, in parts") {
            $0.scheme = "cbcs"
            $0.defaults.ivSize = 0
            $0.defaults.constantIV = Array(1...8)
            $0.defaults.crypt = 1
            $0.defaults.skip = 9
            $0.samples = Movie.samples(4, hasParts: true)
        },
        made("a constant vector, parts in auxiliary information") {
            $0.scheme = "cbcs"
            $0.defaults.ivSize = 0
            $0.defaults.constantIV = Array(1...8)
            $0.samples = Movie.samples(5, hasParts: true)
            $0.information = .auxiliary
        },
        made("auxiliary information in one place") { $0.information = .auxiliary },
        made("auxiliary information in one place, in parts") {
            $0.information = .auxiliary
            $0.samples = Movie.samples(6, hasParts: true)
        },
        made("auxiliary information of each chunk") { $0.information = .auxiliaryOfEach },
        made("auxiliary information of each chunk, in parts") {
            $0.information = .auxiliaryOfEach
            $0.samples = Movie.samples(8, hasParts: true)
        },
        made("PIFF") {
            $0.scheme = "piff"
            $0.information = .piff
        },
        made("PIFF that replaces the track's parameters") {
            $0.scheme = "piff"
            $0.information = .piff
            $0.replacement = ProtectedMovie.Parameters(key: 9, ivSize: 16)
            $0.samples = Movie.samples(9, hasParts: true)
        },
        made("boxes of 64 bits") { $0.hasLongBoxes = true },
        made("one sample a run") { $0.perPart = 1 },
        made("many fragments") {
            $0.perPart = 1
            $0.partsPerFragment = 1
        },
        made("offsets from the start of the file") { $0.countsFromMovie = true },
        made("auxiliary information from the start of the file") {
            $0.countsFromMovie = true
            $0.information = .auxiliaryOfEach
        },
        made("several track fragments of one track") { $0.splitsTracks = true },
        made("no decode time") {
            $0.hasTime = false
            $0.splitsTracks = true
        },
        made("samples of no bytes alone") { $0.samples = Movie.samples(1, hasParts: false, [0, 0, 0, 0]) },
        made("two keys in turn") { movie in
            movie.groups = [ProtectedMovie.Parameters(key: 2), ProtectedMovie.Parameters(key: 3, ivSize: 16)]
            for i in movie.samples.indices { movie.samples[i].group = i % 3 }
        },
        made("two keys in turn, in parts, described in version 0") { movie in
            movie.groupVersion = 0
            movie.samples = Movie.samples(10, hasParts: true)
            movie.groups = [ProtectedMovie.Parameters(key: 2), ProtectedMovie.Parameters(key: 3, ivSize: 16)]
            for i in movie.samples.indices { movie.samples[i].group = i % 3 }
        },
        made("keys with constant vectors, described in version 0") { movie in
            movie.scheme = "cbcs"
            movie.groupVersion = 0
            movie.defaults.ivSize = 0
            movie.defaults.constantIV = Array(1...16)
            movie.information = .nowhere
            movie.groups = [
                ProtectedMovie.Parameters(key: 2, ivSize: 0, constantIV: Array(3...10), crypt: 1, skip: 9),
                ProtectedMovie.Parameters(key: 3, ivSize: 0, constantIV: Array(5...20)),
            ]
            for i in movie.samples.indices { movie.samples[i].group = i % 3 }
        },
        made("groups that the movie describes") { movie in
            movie.describesInFragments = false
            movie.groups = [ProtectedMovie.Parameters(key: 2), ProtectedMovie.Parameters(key: 3)]
            for i in movie.samples.indices { movie.samples[i].group = i % 3 }
        },
        made("a group for all that name none") {
            $0.groupVersion = 2
            $0.groups = [ProtectedMovie.Parameters(key: 2), ProtectedMovie.Parameters(key: 3)]
            $0.defaultGroup = 2
        },
        made("a group of the movie for all that name none") {
            $0.groupVersion = 2
            $0.describesInFragments = false
            $0.groups = [ProtectedMovie.Parameters(key: 2), ProtectedMovie.Parameters(key: 3)]
            $0.defaultGroup = 1
        },
        made("clear samples by group") { movie in
            movie.groups = [ProtectedMovie.Parameters(key: 0, isProtected: false)]
            for i in movie.samples.indices { movie.samples[i].group = i % 2 }
        },
        made("clear samples by group, in parts") { movie in
            movie.samples = Movie.samples(11, hasParts: true)
            movie.groups = [ProtectedMovie.Parameters(key: 0, isProtected: false)]
            for i in movie.samples.indices { movie.samples[i].group = i % 2 }
        },
        made("clear samples by group, auxiliary information") { movie in
            movie.information = .auxiliaryOfEach
            movie.samples = Movie.samples(12, hasParts: true)
            movie.groups = [ProtectedMovie.Parameters(key: 0, isProtected: false)]
            for i in movie.samples.indices { movie.samples[i].group = i % 2 }
        },
        made("clear unless a group says otherwise") { movie in
            movie.defaults.isProtected = false
            movie.groups = [ProtectedMovie.Parameters(key: 2)]
            for i in movie.samples.indices { movie.samples[i].group = i % 2 }
        },
        made("a clear lead") { movie in for i in 0..<4 { movie.samples[i].isClear = true } },
        made("a clear lead, in parts") { movie in
            movie.samples = Movie.samples(13, hasParts: true)
            for i in 0..<4 { movie.samples[i].isClear = true }
        },
        made("a clear lead, auxiliary information of each chunk") { movie in
            movie.information = .auxiliaryOfEach
            movie.samples = Movie.samples(14, hasParts: true)
            for i in [0, 1, 2, 5, 6] { movie.samples[i].isClear = true }
        },
    ]

    @Test(arguments: schemes + parameters)
    func `are read where they lie, as a copy, and as clear samples`(made: Made) async throws {
        let movie = made.movie()
        let bytes = try movie.file()
        let (samples, file, copy) = try await Movie.copied(bytes, movie.keys)
        #expect(copy.count == bytes.count)
        #expect(samples == movie.clear)
        #expect(file.tracks.allSatisfy { $0.entries.allSatisfy { $0.protection == nil } } && file.systems.isEmpty)
        #expect(try await Movie.read(bytes, movie.keys) == movie.clear)
    }

    @Test(arguments: schemes + parameters)
    func `are read in fragments, whole and in pieces`(made: Made) async throws {
        let movie = made.movie()
        let bytes = try movie.fragments()
        let (samples, file, copy) = try await Movie.copied(bytes, movie.keys)
        #expect(samples == movie.clear)
        #expect(file.tracks.allSatisfy { $0.entries.allSatisfy { $0.protection == nil } } && file.systems.isEmpty)
        #expect(try await Movie.read(bytes, movie.keys) == movie.clear)
        for pieces in [1, 100, bytes.count] {
            let (samples, stream) = try await Movie.streamed(bytes, in: pieces, movie.keys)
            #expect(samples == movie.clear)
            #expect(stream == copy)
        }
    }

    @Test(arguments: [[3, 2, 1, 0], [1, 0, 3, 2], [2, 0, 3, 1]])
    func `may have their chunks in any order`(order: [Int]) async throws {
        var movie = Movie()
        movie.samples = Movie.samples(2, hasParts: true)
        movie.order = order
        let bytes = try movie.file()
        #expect(try await Movie.copied(bytes, movie.keys).samples == movie.clear)
        #expect(try await Movie.read(bytes, movie.keys) == movie.clear)
    }

    @Test func `may have a chunk out of order across the blocks of a copy`() async throws {
        var movie = Movie()
        // the samples of the last chunk lie across the first MiB, before the first chunks' samples
        movie.samples = Movie.samples(2, hasParts: false, [(1 << 20) - 300, 40, 50, 60, 500, 70])
        movie.perPart = 1
        movie.order = [0, 4, 1, 2, 3, 5]
        var bytes = try movie.file()
        #expect(try await Movie.copied(bytes, movie.keys).samples == movie.clear)
        movie.samples = Movie.samples(2, hasParts: false, [1 << 20, (1 << 20) - 300, 300, 700, 800, 9000])
        movie.order = [1, 3, 0, 5, 2, 4]
        bytes = try movie.file()
        #expect(try await Movie.copied(bytes, movie.keys).samples == movie.clear)
    }

    @Test(arguments: [ProtectedMovie.Information.auxiliary, .auxiliaryOfEach])
    func `may have their vectors in the media data, which only a whole file shows`(information: ProtectedMovie.Information)
        async throws
    {
        var movie = Movie()
        movie.samples = Movie.samples(2, hasParts: true)
        movie.information = information
        movie.informationInMedia = true
        let bytes = try movie.fragments()
        #expect(try await Movie.copied(bytes, movie.keys).samples == movie.clear)
        #expect(try await Movie.read(bytes, movie.keys) == movie.clear)
        let error = await #expect(throws: Malformed.self) { _ = try await Movie.streamed(bytes, in: 100, movie.keys) }
        #expect(error?.what.contains("which only a whole file can have") == true)
    }

    @Test(arguments: [ProtectedMovie.Information.senc, .auxiliary, .auxiliaryOfEach], [1, 2, 5])
    func `may begin with samples of a clear description`(information: ProtectedMovie.Information, count: Int) async throws {
        var movie = Movie()
        movie.samples = Movie.samples(3, hasParts: false, [40, 17, 33, 160, 161, 500, 48])
        for i in 0..<count { movie.samples[i].isClear = true }
        movie.information = information
        let bytes = try movie.file()
        #expect(try await Movie.copied(bytes, movie.keys).samples == movie.clear)
        #expect(try await Movie.read(bytes, movie.keys) == movie.clear)
    }

    @Test func `lack a key, and say which`() async throws {
        var movie = Movie()
        movie.samples = Movie.samples(1, hasParts: false)
        movie.groups = [ProtectedMovie.Parameters(key: 2)]
        for i in movie.samples.indices { movie.samples[i].group = i % 2 }
        var keys = GivenKeys()
        keys.add(Secret(movie.defaults.keyBytes), for: .id(movie.defaults.keyID))
        for bytes in [try movie.file(), try movie.fragments()] {
            do {
                _ = try await Movie.copied(bytes, keys)
                Issue.record("a key is missing")
            } catch let error as MediaError {
                #expect(error.code == .missingKey && error.message.contains(Hex.encode(movie.groups[0].keyID)))
            }
        }
    }

    @Test func `are refused when their parameters are damaged, with what is wrong`() async throws {
        var movie = Movie()
        movie.samples = Movie.samples(1, hasParts: false)
        movie.defaults.ivSize = 5
        let file = try movie.file()
        for work in [MediaWork.copy, .transport] {
            let error = await #expect(throws: MediaError.self) { try await work.run(HostileFile(file)) }
            #expect(error?.code == .malformed && error?.message.contains("track 1: initialization vectors of 5 bytes") == true)
        }
    }

    @Test func `are encrypted as the reference encrypts`() throws {
        for made in Self.schemes {
            let movie = made.movie()
            let scheme = try #require(CommonEncryptionScheme(rawValue: movie.scheme))
            var cipher = try SampleCipher(scheme, key: Secret(movie.defaults.keyBytes), encrypts: true)
            for (i, sample) in movie.samples.enumerated() {
                let iv = movie.iv(i, movie.defaults)
                let parameters = SampleEncryption(
                    iv: AESBlock(iv.rawSpan) ?? AESBlock(high: 0, low: 0),
                    pattern: BlockPattern(crypt: Int(movie.defaults.crypt), skip: Int(movie.defaults.skip)),
                    subsamples: sample.parts.map { .init(clear: $0.clear, protected: $0.protected) }
                )
                var bytes = sample.clear
                var elements = bytes.mutableSpan
                var span = unsafe elements.mutableBytes
                try cipher.apply(to: &span, in: 0..<sample.clear.count, parameters)
                #expect(try bytes == movie.encrypted(i), "\(made.testDescription), sample \(i)")
            }
        }
    }
}
