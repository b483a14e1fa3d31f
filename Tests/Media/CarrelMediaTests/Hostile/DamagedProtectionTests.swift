// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

/// Small files of every kind of protection, cut off and changed: nothing traps, and errors say what and where.
struct `Damaged files of Common Encryption` {
    private static let made = `Files of Common Encryption`.parameters.enumerated().map { number, made in
        var movie = made.movie()
        let sizes = [0, 17, 33, 160, 40]
        let samples = ProtectedMovie.samples(UInt64(number), hasParts: movie.hasParts, sizes)
        movie.samples = zip(movie.samples, samples).map { old, new in
            var sample = new
            sample.group = old.group
            sample.isClear = old.isClear
            return sample
        }
        movie.perPart = 2
        return movie
    }

    /// Reads bytes in every way; fails the test when an error is of no kind that a caller knows, or names a place outside.
    private static func read(_ bytes: [UInt8], _ works: [MediaWork] = MediaWork.allCases) async {
        for work in works {
            do { try await work.run(HostileFile(bytes)) } catch let error as Malformed {
                let isInside =
                    (0...bytes.count).contains(error.offset) || error.what.contains("lie") || error.what.contains("ends before")
                #expect(isInside && !error.what.isEmpty, "\(work): \(error)")
            } catch is MediaError {
            } catch { Issue.record("\(work): \(error)") }
        }
    }

    @Test(arguments: [0, 5, 9, 12])
    func `are cut off anywhere`(number: Int) async throws {
        for bytes in [try Self.made[number].file(), try Self.made[number].fragments()] {
            for length in 0..<bytes.count { await Self.read(Array(bytes.prefix(length))) }
        }
    }

    @Test(arguments: 0..<8)
    func `have any byte changed`(seed: Int) async throws {
        var random = SplitMix(seed: UInt64(seed))
        let files = try Self.made.flatMap { [try $0.file(), try $0.fragments()] }
        let interesting: [UInt8] = [0, 1, 2, 8, 16, 0x7f, 0x80, 0xff]
        for _ in 0..<400 {
            guard var bytes = files.randomElement(using: &random) else { return }
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                bytes[at] = interesting.randomElement(using: &random) ?? 0
                // a whole number at its end
                if Bool.random(using: &random), at + 4 <= bytes.count {
                    let large: [Int] = [0, 1, -1, 0x7fff_ffff, 0x1_0001, 1 << 23]
                    bytes.replaceSubrange(at..<at + 4, with: HostileFile.words(large.randomElement(using: &random) ?? 0))
                }
            }
            await Self.read(bytes)
        }
    }

    @Test(arguments: [
        "cenc/av.cenc.mp4", "cenc/av-nonfrag.cenc.mp4", "dcf/av.pdcf-ctr.mp4", "isma/av.isma-iaec.mp4", "marlin/av.acbc.mp4",
    ])
    func `have bytes of their headers changed, with sound and pictures`(name: String) async throws {
        let good = try Fixtures.bytes("media/\(name)")
        var random = SplitMix(seed: 5)
        // where the headers are
        let movie = try #require(good.indices.first { good[$0...].starts(with: Array("moov".utf8)) })
        let places = movie..<min(good.count, movie + 6000)
        for _ in 0..<40 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: places, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            await Self.read(bytes, [.copy, .transport, .fragmentTransport])
        }
    }
}
