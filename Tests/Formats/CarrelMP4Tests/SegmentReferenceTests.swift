// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTesting
import Testing

struct `References of a segment index` {
    private static func bytes(_ references: [SegmentIndexBox.Reference], time: UInt64 = 0, firstOffset: UInt64 = 0) -> [UInt8] {
        var index = SegmentIndexBox(trackID: 1, timescale: 1000, earliestTime: time, references: references)
        index.firstOffset = firstOffset
        var writer = BoxWriter()
        index.write(to: &writer)
        return writer.bytes
    }

    private static func index(_ size: Int, duration: UInt32) -> SegmentIndexBox.Reference {
        var reference = SegmentIndexBox.Reference(size: UInt32(size), duration: duration)
        reference.isIndex = true
        return reference
    }

    /// An index that leads to two others, each of which names two subsegments of 100 bytes that follow it, and one more.
    private static let tree: [UInt8] = {
        let leaves = [0, 1].map {
            bytes([.init(size: 100, duration: 10), .init(size: 100, duration: 20)], time: UInt64($0 * 30))
        }
        let stretch = leaves[0].count + 200
        var file = bytes(
            [index(stretch, duration: 30), index(stretch, duration: 30), .init(size: 50, duration: 5, startsWithSync: false)]
        )
        for leaf in leaves { file += leaf + [UInt8](repeating: 0xaa, count: 200) }
        return file + [UInt8](repeating: 0xbb, count: 50)
    }()

    /// Walks through a file whose indexes come when they are asked for.
    private static func walk(_ file: [UInt8], first: Int? = nil, known: Bool = true) throws -> [Subsegment] {
        var walk = SegmentReferenceWalk(length: known ? Int64(file.count) : nil)
        try walk.add(Array(file.prefix(first ?? file.count)), at: 0)
        var found: [Subsegment] = []
        while let reference = try walk.next() {
            switch reference {
            case .media(let subsegment): found.append(subsegment)
            case .index(let range):
                guard range.upperBound <= file.count else { throw Malformed("past the end", at: 0) }
                try walk.add(Array(file[Int(range.lowerBound)..<Int(range.upperBound)]), at: range.lowerBound)
            }
        }
        return found
    }

    @Test func `are followed where they lead, in bytes that come when they are wanted`() throws {
        let tree = Self.tree
        let head = 40 + 36
        #expect(tree.count == head + 2 * (64 + 200) + 50)
        let found = try Self.walk(tree, first: head, known: false)
        #expect(found.map(\.range.lowerBound) == [140, 240, 404, 504, 604].map { Int64($0) })
        #expect(found.map(\.range.count) == [100, 100, 100, 100, 50])
        #expect(found.map(\.time) == [0, 10, 30, 40, 60])
        #expect(found.map(\.duration) == [10, 20, 10, 20, 5])
        #expect(found.map(\.startsWithSync) == [true, true, true, true, false])
        // boxes in front of the first index, and bytes between it and its media
        var writer = BoxWriter()
        writer.box("styp") { $0.zeros(8) }
        let other = writer.bytes + Self.bytes([.init(size: 30, duration: 1)], firstOffset: 7)
        let one = try Self.walk(other, known: false)
        #expect(one.map(\.range) == [Int64(other.count + 7)..<Int64(other.count + 37)])
    }

    @Test func `are the same for a whole file`() throws {
        let bytes = Self.tree
        var window = FileWindow(BytesReader(bytes))
        let box = try MP4Box(&window, at: 0, in: 0..<Int64(bytes.count))
        let references = try #require(try SegmentReferences([box], of: [1], in: BytesReader(bytes)))
        let walked = try Self.walk(bytes)
        #expect(references.subsegments == walked)
        #expect(references.timescale == 1000)
    }

    @Test func `that are cut off or damaged are refused without a trap`() throws {
        let tree = Self.tree
        for count in 0..<tree.count { #expect(throws: (any Error).self) { _ = try Self.walk(Array(tree.prefix(count))) } }
        var random = SplitMix(seed: 5)
        for _ in 0..<4000 {
            var changed = tree
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                changed[Int.random(in: 0..<140, using: &random)] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
            }
            _ = try? Self.walk(changed)
            _ = try? Self.walk(changed, first: 76, known: false)
        }
        // one that leads to nothing, to itself, and too deep
        #expect(throws: Malformed.self) { _ = try Self.walk(Self.bytes([Self.index(0, duration: 1)])) }
        var deep = Self.bytes([.init(size: 8, duration: 1)]) + [UInt8](repeating: 0, count: 8)
        for _ in 0..<70 { deep = Self.bytes([Self.index(deep.count, duration: 1)]) + deep }
        #expect(throws: Malformed.self) { _ = try Self.walk(deep) }
        #expect(throws: Malformed.self) { _ = try Self.walk([UInt8](repeating: 0, count: 64)) }
    }
}
