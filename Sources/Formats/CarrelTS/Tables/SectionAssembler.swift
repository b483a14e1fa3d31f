// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Joins the sections of one packet identifier (ISO/IEC 13818-1 §2.4.4.1).
struct SectionAssembler {
    /// The bytes of a section so far; empty between sections.
    private var section: [UInt8] = []
    /// Whether a section has begun and not ended.
    private(set) var isInside = false

    /// Forgets the section that is not complete: a packet is missing.
    mutating func reset() {
        section.removeAll(keepingCapacity: true)
        isInside = false
    }

    /// Takes the payload of a packet and returns the sections that it completes.
    mutating func consume(_ payload: RawSpan, startsUnit: Bool) -> [[UInt8]] {
        var sections: [[UInt8]] = []
        guard startsUnit else {
            if isInside { _ = append(payload, from: 0, &sections) }
            return sections
        }
        guard payload.byteCount > 0 else { return [] }
        let start = 1 + Int(payload.u8(at: 0))
        guard start <= payload.byteCount else {
            reset()
            return []
        }
        if isInside {
            _ = append(payload.extracting(1..<start), from: 0, &sections)
            reset()
        }
        var at = start
        // stuffing is 0xff, which is not a table
        while at < payload.byteCount, payload.u8(at: at) != 0xff {
            isInside = true
            at = append(payload, from: at, &sections)
        }
        return sections
    }

    /// Appends the bytes that belong to the section; returns their end.
    private mutating func append(_ bytes: RawSpan, from start: Int, _ sections: inout [[UInt8]]) -> Int {
        var at = start
        while section.count < 3, at < bytes.byteCount {
            section.append(bytes.u8(at: at))
            at += 1
        }
        guard section.count >= 3 else { return at }
        let length = 3 + Int(section.rawSpan.u16(at: 1) & 0xfff)
        let count = min(length - section.count, bytes.byteCount - at)
        section.append(copying: bytes.extracting(at..<at + count))
        at += count
        if section.count == length {
            sections.append(section)
            reset()
        }
        return at
    }
}
