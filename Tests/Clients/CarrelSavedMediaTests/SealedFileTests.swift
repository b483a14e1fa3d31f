// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import CarrelSavedMedia
import CarrelTesting
import Testing

struct `A sealed file` {
    private static let key = Secret(Array(repeating: 3, count: 32))
    private static let id = "abcdefghijklmnopqrstuvwxyz"
    private static let name = "0-1/00000.frag"

    private static func content(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 65_536) }
    }

    private static func seal(_ bytes: [UInt8], _ name: String = name, id: String = id, pieces: Int = 1000) throws -> [UInt8] {
        var sealer = try FileSealer(name: name, key: key, id: id)
        var stored: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            stored += sealer.append(Array(bytes[start..<min(start + pieces, bytes.count)]))
        }
        return stored + sealer.finish()
    }

    private let directory = TemporaryDirectory()

    private func open(_ stored: [UInt8], _ name: String = name, id: String = id, key: Secret = key) throws -> SealedFile {
        try SealedFile(RegularFile(directory.write("file", stored)), name: name, key: key, id: id)
    }

    /// The code of the error that reading a file throws; nil if it is read.
    private func code(_ stored: [UInt8], _ name: String = name, id: String = id, key: Secret = key) -> SavedMediaError.Code? {
        do { _ = try open(stored, name, id: id, key: key).readAll() } catch { return (error as? SavedMediaError)?.code }
        return nil
    }

    /// Sealed by another implementation of HKDF and AES-GCM (Python's cryptography), from the description in docs/downloads.md.
    @Test func `of another implementation is read`() throws {
        let stored = try #require(
            Hex.decode(
                "43617272656c534d00000001000102030405060708090a0b0c0d0e0f10111213"
                    + "6fdd0239081138f1a688c6bce19e51b0ecca25aa4c28"
            )
        )
        let file = try open(stored, key: Secret(Array(repeating: 7, count: 32)))
        #expect(try file.readAll() == Array("carrel".utf8))
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000], [999, 65_536, 1 << 20])
    func `of any size is read again, and has the size that is computed`(count: Int, pieces: Int) throws {
        let content = Self.content(count)
        let stored = try Self.seal(content, pieces: pieces)
        #expect(Int64(stored.count) == SealedFormat.storedLength(ofContent: Int64(count)))
        #expect(SealedFormat.contentLength(ofStored: Int64(stored.count)) == Int64(count))
        let file = try open(stored)
        #expect(file.length == Int64(count))
        #expect(try file.readAll() == content)
        for start in [0, count / 3, count - 1] where start >= 0 && start < count {
            let bytes = try file.read(Int64(start)..<Int64(count))
            #expect(!bytes.isEmpty && bytes[...] == content[start..<start + bytes.count])
        }
        // nothing of the content, and no two files alike
        #expect(stored.firstRange(of: content.prefix(32)) == nil || count < 32)
        #expect(try Self.seal(content) != stored)
    }

    @Test func `that was altered in any part is refused`() throws {
        let stored = try Self.seal(Self.content(150_000))
        for place in [0, 8, 11, 12, 31, 32, 40_000, 65_567, 65_584, 131_135, stored.count - 1] {
            var altered = stored
            altered[place] ^= 1
            #expect(code(altered) == .damaged, "byte \(place)")
        }
    }

    @Test func `that was cut, extended or rearranged is refused`() throws {
        let content = Self.content(3 * 65_536)
        let stored = try Self.seal(content)
        let (header, block) = (32, 65_552)
        func blocks(_ order: [Int]) -> [UInt8] {
            let ranges = order.map { header + $0 * block..<min(header + ($0 + 1) * block, stored.count) }
            return Array(stored[..<header]) + ranges.flatMap { stored[$0] }
        }
        #expect(code(blocks([0, 1, 2])) == nil)
        for order in [[0, 1], [0], [], [1, 2], [0, 2], [1, 0, 2], [0, 1, 1, 2], [0, 1, 2, 2], [2]] {
            #expect(code(blocks(order)) == .damaged, "\(order)")
        }
        for count in [0, 1, 31, 32, 47, 48, header + block, stored.count - 1] {
            #expect(code(Array(stored[..<count])) == .damaged, "\(count) bytes")
        }
        #expect(code(stored + [0]) == .damaged)
        // a block of another file of the package
        let other = try Self.seal(content)
        #expect(code(Array(stored[..<(header + block)]) + other[(header + block)...]) == .damaged)
    }

    @Test func `of another name, package or key is refused`() throws {
        let stored = try Self.seal(Self.content(1000))
        #expect(code(stored, "0-1/00001.frag") == .damaged)
        #expect(code(stored, id: "bbbbbbbbbbbbbbbbbbbbbbbbbb") == .damaged)
        #expect(code(stored, key: Secret(Array(repeating: 4, count: 32))) == .damaged)
        #expect(code(stored, key: Secret([1, 2, 3])) == .sealed)
        #expect(code(stored) == nil)
    }

    @Test func `has no size that its format cannot have`() {
        for stored in Int64(0)..<48 { #expect(SealedFormat.contentLength(ofStored: stored) == nil) }
        #expect(SealedFormat.contentLength(ofStored: 48) == 0)
        // a full block cannot be followed by an empty one
        #expect(SealedFormat.contentLength(ofStored: 32 + 65_552) == 65_536)
        for rest in Int64(1)...16 { #expect(SealedFormat.contentLength(ofStored: 32 + 65_552 + rest) == nil) }
        #expect(SealedFormat.contentLength(ofStored: 32 + 65_552 + 17) == 65_537)
    }
}
