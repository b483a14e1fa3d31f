// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// How far one step came.
struct MP3Step {
    /// The end of the frames that start at the step's beginning.
    var framesEnd: Int
    /// How many frames those are.
    var frameCount = 0
    /// The offset to continue at.
    var next: Int
    /// Whether nothing further can be decided without more bytes.
    var wantsMore = false
}

extension MP3Scanner {
    /// Works through the span as far as it can be decided, and returns how many bytes that is.
    mutating func advance<Failure: Error>(
        _ span: RawSpan,
        last: Bool,
        _ frames: (RawSpan, Int) throws(Failure) -> Void
    ) throws(Failure) -> Int {
        var at = 0
        while true {
            let skipped = Int(min(skipping, Int64(span.byteCount - at)))
            at += skipped
            skipping -= Int64(skipped)
            if at == span.byteCount { break }
            let step =
                switch state {
                case .searching: search(span, from: at, last: last)
                case .synced: walk(span, from: at, last: last)
                case .chunks: chunk(span, from: at, last: last)
                case .lyrics: lyrics(span, from: at, last: last)
                case .done: MP3Step(framesEnd: at, next: span.byteCount)
                }
            if step.frameCount > 0 {
                frameCount += Int64(step.frameCount)
                byteCount += Int64(step.framesEnd - at)
                try frames(span.extracting(at..<step.framesEnd), step.frameCount)
            }
            at = step.next
            if step.wantsMore { break }
        }
        offset += Int64(at)
        return at
    }

    /// Whether `word` is the header of a frame that continues the stream.
    func belongs(_ word: UInt32) -> Bool {
        guard word & MP3FrameHeader.fixedMask == pattern, (word & 0xc0 == 0xc0) == isMono else { return false }
        let bitrate = word & 0xf000
        return bitrate != 0 && bitrate != 0xf000
    }

    /// From header to header while each is followed by another of the stream.
    mutating func walk(_ span: RawSpan, from start: Int, last: Bool) -> MP3Step {
        let end = span.byteCount
        var step = MP3Step(framesEnd: start, next: start)
        var word = span.u32(at: start)
        while true {
            let header = MP3FrameHeader(valid: word)
            let at = step.next
            let after = at + header.frameLength
            guard after + 4 <= end else { return settleEnd(span, step, after, last) }
            let next = span.u32(at: after)
            guard belongs(next) else { return settleBreak(span, step, after, last) }
            if MP3InfoFrame.isHere(span, at: at, header) {
                note(MP3InfoFrame.parse(span, at: at, header))
                step.next = after
                return step
            }
            bitratesSeen |= 1 << (word >> 12 & 15)
            step.frameCount += 1
            step.framesEnd = after
            step.next = after
            word = next
        }
    }

    /// Counts the complete frame at `step.next`, and continues the search after it.
    private mutating func keep(_ span: RawSpan, _ step: MP3Step, _ after: Int) -> MP3Step {
        var step = step
        let header = MP3FrameHeader(valid: span.u32(at: step.next))
        state = .searching
        if MP3InfoFrame.isHere(span, at: step.next, header) {
            note(MP3InfoFrame.parse(span, at: step.next, header))
        } else {
            bitratesSeen |= 1 << (header.word >> 12 & 15)
            step.frameCount += 1
            step.framesEnd = after
        }
        step.next = after
        return step
    }

    /// The frame at `step.next` reaches to the end of the span or past it.
    private mutating func settleEnd(_ span: RawSpan, _ step: MP3Step, _ after: Int, _ last: Bool) -> MP3Step {
        var step = step
        if !last {
            step.wantsMore = true
            return step
        }
        if after <= span.byteCount { return keep(span, step, after) }
        if let cut = cutShort(span, step, span.byteCount, last) { return cut }
        state = .searching
        truncatedAt = offset + Int64(step.next)
        step.next = span.byteCount
        return step
    }

    /// Handles bytes at `step.next` that do not continue the stream: either the frame is cut short, or something else comes.
    private mutating func settleBreak(_ span: RawSpan, _ step: MP3Step, _ after: Int, _ last: Bool) -> MP3Step {
        var step = step
        if !last, span.byteCount - after < 3 * Self.longestFrame {
            step.wantsMore = true
            return step
        }
        if MP3Mark.isLikely(after, in: span, last: last) == true { return keep(span, step, after) }
        return cutShort(span, step, after, last) ?? keep(span, step, after)
    }

    /// Looks inside the frame at `step.next`: if the stream or a tag continues there, the frame is truncated and is dropped.
    private mutating func cutShort(_ span: RawSpan, _ step: MP3Step, _ after: Int, _ last: Bool) -> MP3Step? {
        for inner in step.next + 1..<after {
            let isFrame = chain(span, inner, last: last) == .yes && belongs(span.u32(at: inner))
            guard isFrame || beginsTag(span, inner, last) else { continue }
            if !isFrame, last {
                truncatedAt = offset + Int64(step.next)
            } else {
                noteJunk(span, step.next..<inner)
            }
            state = .searching
            var step = step
            step.next = inner
            return step
        }
        return nil
    }

    /// Whether a tag begins at `at`, checked beyond its first bytes.
    private func beginsTag(_ span: RawSpan, _ at: Int, _ last: Bool) -> Bool {
        switch MP3Mark.at(at, in: span, last: last, boundary: false) {
        case .tag(.id3v1, _): last && span.byteCount - at == 128
        case .tag, .apeFooter, .lyrics: true
        case .none, .undecided, .riff: false
        }
    }

    mutating func note(_ info: MP3InfoFrame?) {
        guard let info else { return }
        if let frames = info.frames { declaredFrames = (declaredFrames ?? 0) + frames }
        if frameCount == 0, encoderDelay == nil { encoderDelay = info.delay }
        encoderPadding = info.padding
    }
}
