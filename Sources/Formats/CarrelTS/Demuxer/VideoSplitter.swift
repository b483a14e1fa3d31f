// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelVideo

/// Cuts a byte stream of NAL units into access units.
struct VideoSplitter {
    private let codec: VideoCodec
    private let pid: UInt16
    private var markers = TimeMarkers()
    private var buffer: [UInt8] = []
    /// Bytes of the stream before the buffer.
    private var base = 0
    /// The offset at which the search for start codes continues.
    private var scanned = 0
    /// Whether the buffer begins with a start code.
    private var hasStarted = false
    private var isDropping = false
    private var isDamaged = false
    private var kinds: NALUnitSet = []
    /// The position of the first start code of the unit, which decides its time.
    private var start = 0
    private var lastTimes: (presentation: Int64, decode: Int64)?
    private var step: Int64 = 3003

    init(_ codec: VideoCodec, pid: UInt16) {
        self.codec = codec
        self.pid = pid
    }

    mutating func mark(presentationTime: Int64, decodeTime: Int64) {
        markers.append(
            TimeMarkers.Marker(position: base + buffer.count, presentationTime: presentationTime, decodeTime: decodeTime)
        )
    }

    mutating func reportGap() {
        isDamaged = true
    }

    /// Bytes that wait for the end of their unit.
    var heldCount: Int { buffer.count }

    mutating func append(_ bytes: RawSpan, _ events: inout EventQueue) {
        buffer.append(copying: bytes)
        split(isLast: false, &events)
        if buffer.count > UnitLimits.length {
            if !isDropping { events.report(.longUnit, pid: pid) }
            isDropping = true
            drop(buffer.count - 8)
            scanned = 0
        }
    }

    mutating func finish(_ events: inout EventQueue) {
        split(isLast: true, &events)
        if hasStarted { emit(buffer.count, &events) }
        drop(buffer.count)
        (hasStarted, scanned, isDamaged, kinds) = (false, 0, false, [])
    }

    private mutating func split(isLast: Bool, _ events: inout EventQueue) {
        while let code = StartCode.first(in: buffer.rawSpan, from: scanned) {
            let header = code + 3
            // the header and, for a picture, the bit that marks the first slice
            guard header + codec.unitHeaderLength < buffer.count || isLast else {
                scanned = code
                return
            }
            guard header < buffer.count else { break }
            let type = NALUnitType(codec, header: buffer[header])
            let first = header + codec.unitHeaderLength
            let isFirstSlice = type.isPicture && first < buffer.count && buffer[first] & 0x80 != 0
            let opens = !hasStarted || kinds.contains(.picture) && (type.opensAccessUnit || isFirstSlice)
            var at = code
            if opens {
                let cut = code > 0 && buffer[code - 1] == 0 ? code - 1 : code
                if hasStarted { emit(cut, &events) }
                drop(cut)
                at = code - cut
                start = base + at
                (hasStarted, isDropping, isDamaged, kinds) = (true, false, false, [])
            }
            kinds.formUnion(NALUnitSet(type))
            scanned = at + 3
        }
        scanned = max(scanned, buffer.count - 2)
    }

    private mutating func drop(_ count: Int) {
        buffer.removeFirst(count)
        base += count
    }

    private mutating func emit(_ count: Int, _ events: inout EventQueue) {
        var end = count
        while end > 0, buffer[end - 1] == 0 { end -= 1 }
        let marker = markers.take(at: start)
        guard end > 0, !isDropping, kinds.contains(.picture) else { return }
        let times: (presentation: Int64, decode: Int64)
        if let marker {
            times = (marker.presentationTime, marker.decodeTime)
            if let lastTimes, (1...450_000).contains(times.decode - lastTimes.decode) { step = times.decode - lastTimes.decode }
        } else if let lastTimes {
            times = (lastTimes.presentation + step, lastTimes.decode + step)
        } else {
            return events.report(.untimedUnit, pid: pid)
        }
        lastTimes = times
        events.append(
            .unit(
                AccessUnit(
                    pid: pid,
                    presentationTime: times.presentation,
                    decodeTime: times.decode,
                    isRandomAccess: kinds.contains(.randomAccess),
                    isDamaged: isDamaged,
                    isTimeDerived: marker == nil,
                    data: Array(buffer[0..<end])
                )
            )
        )
    }
}
