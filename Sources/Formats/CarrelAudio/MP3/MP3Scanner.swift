// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Extracts the audio frames of an MP3 file that arrives in pieces, and drops everything else.
///
/// Dropped: ID3v2 (anywhere), ID3v1 and its enhanced form, APE, Lyrics3, a RIFF wrapper, Xing/Info/VBRI frames, zeros and junk.
/// The output is whole Layer III frames of one format, independent of how the input is divided. Holds at most 16 KiB of the file.
package struct MP3Scanner: Sendable {
    enum State {
        /// Outside the frames: looking for a frame or a mark.
        case searching
        /// At a header that continues the stream.
        case synced
        /// At a chunk header of a RIFF wave.
        case chunks
        /// Inside Lyrics3.
        case lyrics
        /// Nothing further matters.
        case done
    }

    /// With this many bytes at hand every decision can be made: three frames and a mark.
    static let lookahead = 8192
    /// The longest Layer III frame: 160 kbit/s at 8 kHz or 320 at 32 kHz, padded.
    static let longestFrame = 1441

    var state = State.searching
    /// The file offset of the next byte to examine.
    var offset: Int64 = 0
    /// Bytes of a tag still to be passed over.
    var skipping: Int64 = 0
    /// Bytes seen but not yet decided on.
    private var carry: [UInt8] = []

    // the stream: which headers belong to it
    var format: AudioFormat?
    var pattern: UInt32 = 0
    var isMono = false
    var frameCount: Int64 = 0
    var byteCount: Int64 = 0
    var bitratesSeen: UInt32 = 0

    // the omissions
    var junk = MP3Summary.Junk()
    /// The run of unexplained bytes just passed.
    var junkRun: Int64 = 0
    var junkStart: Int64 = 0
    var junkRunHasContent = false
    var lyricsStart: Int64 = 0
    var tags: [MP3Tag] = []
    var truncatedAt: Int64?
    var change: MP3Summary.Change?
    var declaredFrames: Int64?
    var encoderDelay: Int?
    var encoderPadding: Int?
    var failure: Malformed?
    var hint: MP3FrameHeader.Refusal?

    /// Number of bytes without a frame after which the search is abandoned, if no frame was found before.
    let searchLimit: Int64

    /// - Parameter searchLimit: number of bytes without a frame after which the search is abandoned, if no frame was found
    ///   before; tags do not count.
    package init(searchLimit: Int64 = 4 << 20) {
        self.searchLimit = searchLimit
    }

    /// Whether more bytes change nothing: the file is not MP3, or changes its format.
    package var isDone: Bool { state == .done }

    /// Takes the next bytes of the file.
    ///
    /// - Parameters:
    ///   - chunk: any number of bytes.
    ///   - frames: gets whole consecutive frames, and their number.
    /// - Throws: the errors of `frames`; the scanner is spent then.
    package mutating func feed<Failure: Error>(
        _ chunk: RawSpan,
        _ frames: (RawSpan, Int) throws(Failure) -> Void
    ) throws(Failure) {
        var at = 0
        while at < chunk.byteCount {
            guard !carry.isEmpty else {
                let used = try advance(chunk.extracting(at..<chunk.byteCount), last: false, frames)
                if used == 0 { carry.append(copying: chunk.extracting(at..<chunk.byteCount)) }
                at = used == 0 ? chunk.byteCount : at + used
                continue
            }
            let carryCount = carry.count
            let more = min(Self.lookahead, chunk.byteCount - at)
            var joined: [UInt8] = []
            swap(&joined, &carry)
            joined.append(copying: chunk.extracting(at..<at + more))
            let used = try advance(joined.rawSpan, last: false, frames)
            if used >= carryCount {
                at += used - carryCount
            } else {
                joined.removeFirst(used)
                carry = joined
                at += more
            }
        }
    }

    /// Says that the file ends here, and passes on the frames that were waiting to be sure.
    package mutating func end<Failure: Error>(_ frames: (RawSpan, Int) throws(Failure) -> Void) throws(Failure) {
        let remainder = carry
        carry = []
        _ = try advance(remainder.rawSpan, last: true, frames)
        closeJunk()
        if skipping > 0, truncatedAt == nil, let tag = tags.last, tag.range.upperBound > offset {
            truncatedAt = tag.range.lowerBound
        }
    }

    /// The content of the file; call it after `end`.
    ///
    /// - Throws: if the file contains no usable MP3 frame, with the reason.
    package func summary() throws(Malformed) -> MP3Summary {
        if let failure { throw failure }
        guard let format, frameCount > 0 else {
            if offset == 0 { throw Malformed("file is empty", at: 0) }
            if let truncatedAt, let kind = tags.last?.kind, skipping > 0 {
                throw Malformed("\(kind.rawValue) tag reaches past the end of the file", at: Int(truncatedAt))
            }
            if let hint { throw Malformed("no MP3 frame found: \(hint.rawValue)", at: Int(junk.firstOffset ?? 0)) }
            throw Malformed("no MP3 frame found", at: Int(junk.firstOffset ?? 0))
        }
        return MP3Summary(
            format: format,
            frameCount: frameCount,
            byteCount: byteCount,
            isVariableBitrate: bitratesSeen & (bitratesSeen &- 1) != 0,
            encoderDelay: encoderDelay,
            encoderPadding: encoderPadding,
            declaredFrames: declaredFrames,
            truncatedAt: truncatedAt,
            junk: junk,
            inconsistency: change,
            tags: tags
        )
    }
}
