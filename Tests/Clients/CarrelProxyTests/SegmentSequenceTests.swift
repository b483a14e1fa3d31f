// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CarrelPresentation
@testable import CarrelProxy

struct `The numbers of a live playlist` {
    /// Segments of two seconds: their periods, and their places in these.
    private static func list(_ segments: [(period: Int64, index: Int64)], target: UInt64 = 2) -> SegmentList {
        var list = SegmentList()
        list.isEnded = false
        list.leastTarget = target
        for (place, segment) in segments.enumerated() {
            let start = Duration.milliseconds(segment.period) + .seconds(2 * segment.index)
            let name = SegmentName(period: segment.period, RenditionName(video: 0), index: segment.index, time: segment.index * 2)
            var made = SegmentList.Segment(name: name, start: start, duration: .seconds(2))
            made.isDiscontinuity = place > 0 && segment.period != segments[place - 1].period
            list.segments.append(made)
        }
        return list
    }

    private struct Numbers: Equatable {
        var media: UInt64
        var discontinuities: UInt64
        var starts: [Int]
        var marks: [Bool]

        init(_ media: UInt64, _ discontinuities: UInt64, _ starts: [Int], marks: Set<Int> = []) {
            (self.media, self.discontinuities, self.starts) = (media, discontinuities, starts)
            self.marks = starts.map { marks.contains($0) }
        }

        init(_ list: SegmentList) {
            media = list.mediaSequence
            discontinuities = list.discontinuitySequence
            starts = list.segments.map { Int($0.start / .seconds(1)) }
            marks = list.segments.map(\.isDiscontinuity)
        }
    }

    private static func numbers(_ lists: [[(period: Int64, index: Int64)]]) -> [Numbers] {
        var sequence = SegmentSequence()
        return lists.map {
            var list = list($0)
            sequence.update(&list)
            return Numbers(list)
        }
    }

    @Test func `rise by the segments that were dropped`() {
        let numbers = Self.numbers([[(0, 0), (0, 1)], [(0, 0), (0, 1), (0, 2)], [(0, 2), (0, 3)], [(0, 2), (0, 3)]])
        #expect(numbers == [.init(0, 0, [0, 2]), .init(0, 0, [0, 2, 4]), .init(2, 0, [4, 6]), .init(2, 0, [4, 6])])
    }

    @Test func `count the discontinuities that were dropped`() {
        let numbers = Self.numbers([
            [(0, 3), (0, 4)], [(0, 4), (10_000, 0)], [(10_000, 0), (10_000, 1)], [(10_000, 1), (10_000, 2)],
            [(10_000, 2), (16_000, 0)],
        ])
        #expect(
            numbers == [
                .init(0, 0, [6, 8]), .init(1, 0, [8, 10], marks: [10]), .init(2, 0, [10, 12], marks: [10]),
                .init(3, 1, [12, 14]),
                .init(4, 1, [14, 16], marks: [16]),
            ]
        )
    }

    @Test func `do not take back what a shrinking window dropped`() {
        let numbers = Self.numbers([[(0, 0), (0, 1), (0, 2), (0, 3)], [(0, 3)], [(0, 1), (0, 2), (0, 3), (0, 4)]])
        #expect(numbers == [.init(0, 0, [0, 2, 4, 6]), .init(3, 0, [6]), .init(3, 0, [6, 8])])
    }

    @Test func `continue where a window jumps, with a discontinuity`() {
        let numbers = Self.numbers([[(0, 0), (0, 1)], [(0, 100), (0, 101)], [(0, 102), (0, 103)], [(0, 104)]])
        #expect(
            numbers == [
                .init(0, 0, [0, 2]), .init(2, 0, [200, 202], marks: [200]), .init(4, 1, [204, 206]), .init(6, 1, [208]),
            ]
        )
    }

    @Test func `stay over a list without segments`() {
        let numbers = Self.numbers([[(0, 0), (0, 1)], [], [(0, 1), (0, 2)], [(0, 2), (0, 3)], [], []])
        #expect(
            numbers == [
                .init(0, 0, [0, 2]), .init(2, 0, []), .init(2, 0, [4]), .init(2, 0, [4, 6]), .init(4, 0, []), .init(4, 0, []),
            ]
        )
    }

    @Test func `mark a period whose beginning was never listed`() {
        let numbers = Self.numbers([[(0, 0), (0, 1)], [(50_000, 3), (50_000, 4)], [(50_000, 4)], [(50_000, 5), (50_000, 6)]])
        #expect(
            numbers == [
                .init(0, 0, [0, 2]), .init(2, 0, [56, 58], marks: [56]), .init(3, 1, [58]), .init(4, 1, [60, 62]),
            ]
        )
    }

    @Test func `leave out what another variant lists in front`() {
        let numbers = Self.numbers([[(0, 1), (0, 2)], [(0, 0), (0, 1), (0, 2), (0, 3)], [(0, 1), (0, 2)], [(0, 2), (0, 3)]])
        #expect(numbers == [.init(0, 0, [2, 4]), .init(0, 0, [2, 4, 6]), .init(0, 0, [2, 4]), .init(1, 0, [4, 6])])
    }

    @Test func `keep the longest target duration`() {
        var sequence = SegmentSequence()
        var targets: [UInt64] = []
        for target in [2, 5, 3] as [UInt64] {
            var list = Self.list([(0, 0)], target: target)
            sequence.update(&list)
            targets.append(list.leastTarget)
        }
        #expect(targets == [2, 5, 5])
    }

    @Test func `take the same time after 10 and 10,000 reloads`() {
        var sequence = SegmentSequence()
        func reloads(_ range: Range<Int64>) -> Duration {
            ContinuousClock().measure {
                for first in range {
                    var list = Self.list((first..<first + 30).map { (0, $0) })
                    sequence.update(&list)
                }
            }
        }
        _ = reloads(0..<10)
        let early = (0..<5).map { reloads(10 + $0 * 100..<110 + $0 * 100) }.min() ?? .zero
        _ = reloads(510..<10_000)
        let late = (0..<5).map { reloads(10_000 + $0 * 100..<10_100 + $0 * 100) }.min() ?? .zero
        #expect(late < early * 2)
    }
}
