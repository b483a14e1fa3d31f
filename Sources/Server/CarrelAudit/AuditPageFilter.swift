// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The accounts, subjects, actions and outcomes in a page of the audit log: a Bloom filter with ten bits for an account and ten
/// for a subject, of which seven are set. Its false-positive rate is one percent; it has no false negatives.
package struct AuditPageFilter: Sendable {
    package let bits: [UInt8]

    /// A filter as it was written.
    package init(bits: [UInt8]) { self.bits = bits }

    /// The filter of ids given as ranges of bytes, and of a few more.
    init(ids: [Range<Int>], in bytes: [UInt8], and words: [String]) {
        var bits = [UInt8](repeating: 0, count: max(16, ids.count * 20 / 24))
        for hash in ids.lazy.map({ Self.hash(bytes[$0]) }) + words.map({ Self.hash($0.utf8) }) {
            for place in Self.places(of: hash, count: bits.count * 8) { bits[place >> 3] |= 1 << (place & 7) }
        }
        self.bits = bits
    }

    /// False if the page does not contain the id.
    package func mayHold(_ id: String) -> Bool {
        guard !bits.isEmpty else { return false }
        return Self.places(of: Self.hash(id.utf8), count: bits.count * 8).allSatisfy { bits[$0 >> 3] & 1 << ($0 & 7) != 0 }
    }

    /// Seven places, by two halves of one hash (Kirsch and Mitzenmacher, 2006).
    private static func places(of hash: UInt64, count: Int) -> some Sequence<Int> {
        let (start, step) = (hash & 0xffff_ffff, hash >> 32 | 1)
        return (0..<7).lazy.map { Int((start &+ UInt64($0) &* step) % UInt64(count)) }
    }

    /// FNV-1a, its bits mixed once more: the lowest would follow the last character.
    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
        return hash ^ hash >> 33
    }
}
