// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension MP3Scanner {
    enum Verdict {
        case yes, no, undecided
    }

    /// Byte by byte to the next frame or mark.
    mutating func search(_ span: RawSpan, from start: Int, last: Bool) -> MP3Step {
        var at = start
        while at < span.byteCount {
            let byte = span.u8(at: at)
            if byte == 0xff {
                switch begin(span, at, last) {
                case .yes(let step): return step
                case .undecided: return MP3Step(framesEnd: start, next: at, wantsMore: true)
                case .no: break
                }
            } else {
                switch MP3Mark.at(at, in: span, last: last, boundary: junkRun == 0) {
                case .none: break
                case .undecided: return MP3Step(framesEnd: start, next: at, wantsMore: true)
                case .tag(let kind, let length):
                    closeJunk()
                    pass(kind, from: offset + Int64(at), length: length, ahead: length)
                    return MP3Step(framesEnd: start, next: at)
                case .apeFooter(let length):
                    junkRun = max(0, junkRun - (length - 32))
                    closeJunk()
                    pass(.ape, from: offset + Int64(at) + 32 - length, length: length, ahead: 32)
                    return MP3Step(framesEnd: start, next: at)
                case .lyrics:
                    closeJunk()
                    lyricsStart = offset + Int64(at)
                    state = .lyrics
                    return MP3Step(framesEnd: start, next: at + 11)
                case .riff where format == nil:
                    closeJunk()
                    state = .chunks
                    return MP3Step(framesEnd: start, next: at + 12)
                case .riff: break
                }
            }
            if junkRun == 0 { junkStart = offset + Int64(at) }
            junkRun += 1
            if byte != 0 { junkRunHasContent = true }
            at += 1
            if format == nil, junkRun > searchLimit {
                closeJunk()
                state = .done
                break
            }
        }
        return MP3Step(framesEnd: start, next: at, wantsMore: at == span.byteCount)
    }

    private enum Start {
        case yes(MP3Step)
        case no, undecided
    }

    /// Decides whether a frame of the stream, the first frame, an info frame or a frame of another format is at `at`.
    private mutating func begin(_ span: RawSpan, _ at: Int, _ last: Bool) -> Start {
        switch chain(span, at, last: last) {
        case .undecided: return .undecided
        case .no:
            if format == nil, hint == nil, junkRun == 0, at + 4 <= span.byteCount {
                let refusal = MP3FrameHeader.refusal(span.u32(at: at))
                if refusal == .freeFormat || refusal == .otherLayer { hint = refusal }
            }
            return .no
        case .yes: break
        }
        let header = MP3FrameHeader(valid: span.u32(at: at))
        if at + header.frameLength <= span.byteCount, let info = MP3InfoFrame.parse(span, at: at, header) {
            closeJunk()
            note(info)
            return .yes(MP3Step(framesEnd: at, next: at + header.frameLength))
        }
        closeJunk()
        if format == nil {
            format = header.format
            pattern = header.word & MP3FrameHeader.fixedMask
            isMono = header.channelMode == .mono
        } else if !belongs(header.word) {
            change = MP3Summary.Change(offset: offset + Int64(at), format: header.format)
            state = .done
            return .yes(MP3Step(framesEnd: at, next: at))
        }
        state = .synced
        return .yes(MP3Step(framesEnd: at, next: at))
    }

    /// Whether enough consistent headers follow each other from `start`: two in a known stream, three in a new one, fewer if a
    /// tag or the end of the file follows a complete frame.
    func chain(_ span: RawSpan, _ start: Int, last: Bool) -> Verdict {
        guard span.byteCount - start >= 4 else { return last ? .no : .undecided }
        guard var header = MP3FrameHeader.parse(span.u32(at: start)) else { return .no }
        let minimumCount = format != nil && belongs(header.word) ? 2 : 3
        var at = start
        var count = 1
        while count < minimumCount {
            at += header.frameLength
            if at + 4 > span.byteCount {
                guard last else { return .undecided }
                return at == span.byteCount || count >= 2 || (at < span.byteCount && format != nil) ? .yes : .no
            }
            guard let next = MP3FrameHeader.parse(span.u32(at: at)), follows(next, header, span, count == 1 ? start : nil) else {
                switch MP3Mark.isLikely(at, in: span, last: last) {
                case .some(let likely): return likely ? .yes : .no
                case .none: return .undecided
                }
            }
            header = next
            count += 1
        }
        return .yes
    }

    /// Whether two neighbouring headers are of one stream; an info frame may differ in channels.
    private func follows(_ next: MP3FrameHeader, _ header: MP3FrameHeader, _ span: RawSpan, _ start: Int?) -> Bool {
        guard (next.word ^ header.word) & MP3FrameHeader.fixedMask == 0 else { return false }
        if next.channels == header.channels { return true }
        guard let start else { return false }
        return MP3InfoFrame.parse(span, at: start, header) != nil
    }

    /// Records a tag and skips its remaining bytes.
    private mutating func pass(_ kind: MP3Tag.Kind, from start: Int64, length: Int64, ahead: Int64) {
        let start = max(0, start)
        if tags.count < 64 { tags.append(MP3Tag(kind: kind, range: start..<start + length)) }
        skipping = ahead
        state = .searching
    }

    /// At a chunk of a RIFF wave.
    mutating func chunk(_ span: RawSpan, from start: Int, last: Bool) -> MP3Step {
        guard span.byteCount - start >= 10 else {
            return MP3Step(framesEnd: start, next: last ? span.byteCount : start, wantsMore: true)
        }
        if span.matches("data", at: start) {
            state = .searching
            return MP3Step(framesEnd: start, next: start + 8)
        }
        if span.matches("fmt ", at: start) {
            let codec = span.u16le(at: start + 8)
            if codec != 0x55, codec != 0x50 {
                failure = Malformed("RIFF wave holds another codec than MP3", at: Int(offset) + start)
                state = .done
            }
        }
        let length = Int64(span.u32le(at: start + 4))
        skipping = 8 + length + length % 2
        return MP3Step(framesEnd: start, next: start)
    }

    /// Inside Lyrics3, which ends with `LYRICSEND` (version 1) or `LYRICS200` (version 2, a six-digit length before it).
    mutating func lyrics(_ span: RawSpan, from start: Int, last: Bool) -> MP3Step {
        var at = start
        while at + 9 <= span.byteCount {
            if span.matches("LYRICSEND", at: at) || span.matches("LYRICS200", at: at) {
                let end = offset + Int64(at) + 9
                if tags.count < 64 { tags.append(MP3Tag(kind: .lyrics3, range: lyricsStart..<end)) }
                state = .searching
                return MP3Step(framesEnd: start, next: at + 9)
            }
            at += 1
            if offset + Int64(at) - lyricsStart > 1_000_020 {
                state = .searching
                return MP3Step(framesEnd: start, next: at)
            }
        }
        return MP3Step(framesEnd: start, next: last ? span.byteCount : at, wantsMore: true)
    }

    mutating func noteJunk(_ span: RawSpan, _ range: Range<Int>) {
        junk.byteCount += Int64(range.count)
        if junk.firstOffset == nil { junk.firstOffset = offset + Int64(range.lowerBound) }
    }

    /// Ends a run of unexplained bytes; zeros alone need no explanation.
    mutating func closeJunk() {
        if junkRunHasContent, junkRun > 0 {
            junk.byteCount += junkRun
            if junk.firstOffset == nil { junk.firstOffset = junkStart }
        }
        junkRun = 0
        junkRunHasContent = false
    }
}
