// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Takes whole PES packets as units, or the ID3 tags in them, which may span several packets.
struct PacketSplitter {
    private let pid: UInt16
    private let isID3: Bool
    private var buffer: [UInt8] = []
    private var times: (presentation: Int64, decode: Int64)?
    private var isDamaged = false
    private var isDropping = false

    init(isID3: Bool, pid: UInt16) {
        self.isID3 = isID3
        self.pid = pid
    }

    mutating func begin(_ times: (presentation: Int64, decode: Int64)?, _ events: inout EventQueue) {
        // a tag continues in packets without a time
        if times == nil, isID3, !buffer.isEmpty { return }
        emit(&events)
        self.times = times ?? self.times
    }

    mutating func reportGap() {
        isDamaged = true
    }

    /// Bytes that wait for the end of their unit.
    var heldCount: Int { buffer.count }

    mutating func append(_ bytes: RawSpan, _ events: inout EventQueue) {
        guard !isDropping else { return }
        buffer.append(copying: bytes)
        if buffer.count > UnitLimits.length {
            events.report(.longUnit, pid: pid)
            isDropping = true
            buffer = []
        }
    }

    /// The PES packet has all its bytes.
    mutating func end(_ events: inout EventQueue) {
        if !isID3 || isTagComplete { emit(&events) }
    }

    mutating func finish(_ events: inout EventQueue) {
        emit(&events)
        isDropping = false
    }

    /// Whether the tag's own length is reached (ID3v2.4 §3.1).
    private var isTagComplete: Bool {
        guard buffer.count >= 10, buffer.rawSpan.matches("ID3", at: 0) else { return true }
        let size = buffer[6..<10].reduce(0) { $0 << 7 | Int($1 & 0x7f) }
        return buffer.count >= size + 10
    }

    private mutating func emit(_ events: inout EventQueue) {
        defer { (buffer, isDamaged, isDropping) = ([], false, false) }
        guard !buffer.isEmpty else { return }
        guard let times else { return events.report(.untimedUnit, pid: pid) }
        events.append(
            .unit(
                AccessUnit(
                    pid: pid,
                    presentationTime: times.presentation,
                    decodeTime: times.decode,
                    isRandomAccess: true,
                    isDamaged: isDamaged,
                    data: buffer
                )
            )
        )
    }
}
