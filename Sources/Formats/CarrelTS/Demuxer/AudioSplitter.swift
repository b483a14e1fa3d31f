// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Cuts an audio stream into frames, each with its time.
struct AudioSplitter {
    private let framing: AudioFraming
    private let pid: UInt16
    private var markers = TimeMarkers()
    private var buffer: [UInt8] = []
    /// Number of consumed bytes at the front of the buffer; they are removed together.
    private var head = 0
    /// Bytes of the stream before those that are not done.
    private var base = 0
    /// Number of bytes after the head that already form a unit, which following frames may extend.
    private var unitLength = 0
    private var unit = AudioFraming.Frame(length: 0, samples: 0, sampleRate: 1)
    /// Whether the next frame is expected at the end of the last one.
    private var isLocked = false
    private var hasReported = false
    /// The time of the last timestamp, and samples since.
    private var origin: Int64?
    private var samples: Int64 = 0

    init(_ framing: AudioFraming, pid: UInt16) {
        self.framing = framing
        self.pid = pid
    }

    mutating func mark(presentationTime: Int64) {
        markers.append(
            TimeMarkers.Marker(position: base + available, presentationTime: presentationTime, decodeTime: presentationTime)
        )
    }

    /// Drops the frame with a missing packet, and the following ones up to the next timestamp.
    mutating func reportGap(_ events: inout EventQueue) {
        if unitLength > 0 { emit(&events) }
        drop(available)
        markers = TimeMarkers()
        origin = nil
        isLocked = false
        // a gap is reported already
        hasReported = true
    }

    mutating func append(_ bytes: RawSpan, _ events: inout EventQueue) {
        // a search that finds no frame drops byte after byte
        buffer.removeFirst(head)
        head = 0
        buffer.append(copying: bytes)
        split(isLast: false, &events)
    }

    mutating func finish(_ events: inout EventQueue) {
        split(isLast: true, &events)
        if unitLength > 0 { emit(&events) }
        if available > 0 { events.report(.truncatedUnit, pid: pid) }
        drop(available)
        (isLocked, hasReported) = (false, false)
    }

    /// Bytes that wait for the end of their unit.
    var heldCount: Int { buffer.count }

    /// Bytes not done.
    private var available: Int { buffer.count - head }

    private mutating func split(isLast: Bool, _ events: inout EventQueue) {
        while available - unitLength >= framing.headerLength {
            let at = unitLength
            guard let frame = framing.frame(buffer.rawSpan, at: head + at), isConfirmed(frame, at, isLast) ?? true else {
                if at > 0 { emit(&events) }
                if !hasReported, isLocked || base > 0 { events.report(.lostFrameSync, pid: pid) }
                (isLocked, hasReported) = (false, true)
                drop(1)
                continue
            }
            guard at + frame.length <= available, isLocked || isConfirmed(frame, at, isLast) != nil else { return }
            (isLocked, hasReported) = (true, false)
            if at > 0, !frame.isExtension { emit(&events) }
            if unitLength == 0 { unit = frame }
            unitLength += frame.length
            if !frame.isExtensible { emit(&events) }
            if unitLength > UnitLimits.length {
                events.report(.longUnit, pid: pid)
                drop(unitLength)
                unitLength = 0
            }
        }
    }

    /// Whether a frame follows this one; nil if its bytes have not arrived.
    private func isConfirmed(_ frame: AudioFraming.Frame, _ at: Int, _ isLast: Bool) -> Bool? {
        if isLocked { return true }
        let next = at + frame.length
        guard next + framing.headerLength <= available else { return isLast ? true : nil }
        return framing.frame(buffer.rawSpan, at: head + next) != nil
    }

    private mutating func drop(_ count: Int) {
        head += count
        base += count
    }

    /// Emits the unit at the front of the buffer.
    private mutating func emit(_ events: inout EventQueue) {
        guard unitLength > 0 else { return }
        let marker = markers.take(at: base)
        if let marker {
            origin = marker.presentationTime
            samples = 0
        }
        let data = Array(buffer[head..<head + unitLength])
        drop(unitLength)
        unitLength = 0
        guard let origin else { return events.report(.untimedUnit, pid: pid) }
        let rate = Int64(max(1, unit.sampleRate))
        let time = origin &+ (samples &* 90_000 &+ rate / 2) / rate
        samples &+= Int64(unit.samples)
        events.append(
            .unit(
                AccessUnit(
                    pid: pid,
                    presentationTime: time,
                    isRandomAccess: true,
                    isTimeDerived: marker == nil,
                    samples: unit.samples,
                    sampleRate: unit.sampleRate,
                    data: data
                )
            )
        )
    }
}
