// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelTesting
import Testing

struct `Decrypted ranges` {
    private final class Ranges {
        private var ranges = DecryptedRanges()

        func insert(_ range: Range<Int64>) -> Bool { ranges.insert(range) }
    }

    @Test func `refuse overlapping ranges in any order`() {
        var random = SplitMix(seed: 7)
        for _ in 0..<200 {
            let ranges = Ranges()
            var taken = Set<Int64>()
            for _ in 0..<200 {
                let start = Int64.random(in: 0..<600, using: &random)
                let range = start..<start + Int64.random(in: 0..<6, using: &random)
                let isFree = range.allSatisfy { !taken.contains($0) }
                #expect(ranges.insert(range) == isFree)
                if isFree { taken.formUnion(range) }
            }
        }
    }

    @Test func `refuse overlapping ranges among many runs`() {
        let ranges = Ranges()
        let order = (0..<20_000).map { Int64($0 * 7919 % 20_000) }
        for place in order { #expect(ranges.insert(place * 4..<place * 4 + 2)) }
        for place in order { #expect(!ranges.insert(place * 4 - 1..<place * 4 + 1)) }
        // the gaps are free, and fill once
        for place in order { #expect(ranges.insert(place * 4 + 2..<place * 4 + 4)) }
        #expect(!ranges.insert(0..<1) && !ranges.insert(79_999..<80_001) && ranges.insert(80_000..<80_001))
    }

    @Test func `that come from the end to the beginning take little time`() {
        let ranges = Ranges()
        let clock = ContinuousClock.now
        for place in (0..<Int64(400_000)).reversed() where !ranges.insert(place * 4..<place * 4 + 2) { Issue.record("\(place)") }
        guard !PeakCost.isSanitized else { return }
        #expect(ContinuousClock.now - clock < .seconds(10))
    }

    @Test func `are a million at most`() {
        let ranges = Ranges()
        for place in 0..<Int64(1 << 20) where !ranges.insert(place * 2..<place * 2 + 1) { Issue.record("\(place)") }
        #expect(!ranges.insert(1 << 30..<1 << 30 + 1))
        // a range that joins others is not an additional one
        #expect(ranges.insert(1..<2) && ranges.insert(1 << 30..<1 << 30 + 1))
    }
}
