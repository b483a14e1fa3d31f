// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A track as a movie describes it (`trak`, ISO/IEC 14496-12 §8.3): everything but its samples.
package struct MovieTrack: Sendable {
    /// Which track; not 0.
    package var id: UInt32
    /// The kind of its samples: `vide`, `soun`, `text`, `subt`.
    package var handler: FourCC
    /// Units a second of its times.
    package var timescale: UInt32
    /// ISO 639-2, three lower-case letters; nil if undetermined.
    package var language: String?
    /// Its sample descriptions, whole entries with their headers.
    package var entries: [[UInt8]]
    /// Width in pixels; 0 unless it is video.
    package var width = 0
    /// Height in pixels; 0 unless it is video.
    package var height = 0
    /// How its pictures are displayed; nil for untransformed, at their size.
    package var display: TrackDisplay?
    /// The presented part of its media; none presents all.
    package var edits: [EditList.Edit] = []
    /// Whether it is meant to be played.
    package var isEnabled = true
    /// The duration of its samples, in units of `timescale`; 0 if the samples are in fragments.
    package var duration: Int64 = 0

    /// - Parameters:
    ///   - id: not 0.
    ///   - handler: such as `vide`.
    ///   - timescale: units per second; not 0.
    ///   - language: ISO 639-2, three lower-case letters; nil if undetermined.
    ///   - entries: whole entries with their headers.
    package init(id: UInt32, handler: FourCC, timescale: UInt32, language: String? = nil, entries: [[UInt8]]) {
        self.id = id
        self.handler = handler
        self.timescale = timescale
        self.language = language
        self.entries = entries
    }

    /// Takes over a track of a file: its descriptions without their protection, its edits, its language.
    ///
    /// - Parameters:
    ///   - track: the track.
    ///   - id: its new id; nil keeps it.
    /// - Throws: `Malformed` if it has no time scale or no description, or one that cannot be written.
    package init(_ track: MP4Track, id: UInt32? = nil) throws(Malformed) {
        guard track.timescale > 0, let timescale = UInt32(exactly: track.timescale) else {
            throw Malformed("track \(track.id) has no time scale", at: 0)
        }
        guard !track.entries.isEmpty else { throw Malformed("track \(track.id) has no sample description", at: 0) }
        var entries: [[UInt8]] = []
        for entry in track.entries { entries.append(try entry.clearBytes()) }
        self.init(
            id: id ?? track.id,
            handler: FourCC(stringLiteral: track.kind),
            timescale: timescale,
            language: track.language,
            entries: entries
        )
        width = track.entries[0].width
        height = track.entries[0].height
        if track.kind == "vide" { display = track.display }
        edits = track.editList.edits
        isEnabled = track.isEnabled
    }

    /// Writes the track.
    ///
    /// - Parameters:
    ///   - writer: gets the box.
    ///   - movieTimescale: units per second of the movie's times.
    ///   - tables: writes the sample tables after the descriptions; they are empty in a fragmented file.
    func write(to writer: inout BoxWriter, movieTimescale: UInt32, tables: (inout BoxWriter) -> Void) {
        writer.box("trak") { writer in
            writeHeader(to: &writer, movieTimescale)
            writeEdits(to: &writer)
            writer.box("mdia") { writer in
                writeMediaHeader(to: &writer)
                writer.fullBox("hdlr") { writer in
                    writer.u32(0)
                    writer.fourCC(handler)
                    writer.zeros(13)
                }
                writer.box("minf") { writer in
                    writeInformationHeader(to: &writer)
                    writer.box("dinf") { writer in
                        writer.fullBox("dref") { writer in
                            writer.u32(1)
                            // the media are in the same file
                            writer.fullBox("url ", flags: 1) { _ in }
                        }
                    }
                    writer.box("stbl") { writer in
                        writer.fullBox("stsd") { writer in
                            writer.u32(UInt32(clamping: entries.count))
                            for entry in entries { writer.append(entry) }
                        }
                        tables(&writer)
                    }
                }
            }
        }
    }

    private func writeHeader(to writer: inout BoxWriter, _ movieTimescale: UInt32) {
        let presented =
            edits.isEmpty
            ? Timescale.convert(duration, times: Int(movieTimescale), over: Int(timescale))
            : edits.reduce(0) { $0 &+ max(0, $1.duration) }
        writer.fullBox("tkhd", version: 1, flags: isEnabled ? 7 : 6) { writer in
            writer.u64(0)
            writer.u64(0)
            writer.u32(id)
            writer.u32(0)
            writer.u64(UInt64(clamping: presented))
            writer.zeros(8)
            writer.u16(0)
            writer.u16(0)
            writer.u16(handler == "soun" ? 0x100 : 0)
            writer.u16(0)
            let size = (width: UInt32(clamping: width) << 16, height: UInt32(clamping: height) << 16)
            let display = display ?? TrackDisplay(width: size.width, height: size.height)
            for value in display.matrix { writer.u32(UInt32(bitPattern: value)) }
            // a header without a size leaves it to the description
            writer.u32(display.width > 0 ? display.width : size.width)
            writer.u32(display.height > 0 ? display.height : size.height)
        }
    }

    private func writeEdits(to writer: inout BoxWriter) {
        guard !edits.isEmpty else { return }
        writer.box("edts") { writer in
            writer.fullBox("elst", version: 1) { writer in
                writer.u32(UInt32(clamping: edits.count))
                for edit in edits {
                    writer.u64(UInt64(bitPattern: edit.duration))
                    writer.u64(UInt64(bitPattern: edit.mediaTime))
                    writer.u32(0x1_0000)
                }
            }
        }
    }

    private func writeMediaHeader(to writer: inout BoxWriter) {
        writer.fullBox("mdhd", version: 1) { writer in
            writer.u64(0)
            writer.u64(0)
            writer.u32(timescale)
            writer.u64(UInt64(clamping: duration))
            writer.u16(Self.languageCode(language))
            writer.u16(0)
        }
    }

    private func writeInformationHeader(to writer: inout BoxWriter) {
        switch handler {
        case "vide": writer.fullBox("vmhd", flags: 1) { $0.zeros(8) }
        case "soun": writer.fullBox("smhd") { $0.zeros(4) }
        case "subt": writer.fullBox("sthd") { _ in }
        default: writer.fullBox("nmhd") { _ in }
        }
    }

    /// Three letters of five bits each (§8.4.2.3).
    private static func languageCode(_ language: String?) -> UInt16 {
        let letters = Array((language ?? "und").utf8)
        guard letters.count == 3, letters.allSatisfy({ (0x61...0x7a).contains($0) }) else { return languageCode(nil) }
        return letters.reduce(0) { $0 << 5 | UInt16($1 - 0x60) }
    }
}

extension BoxWriter {
    /// Writes the matrix that changes nothing (§8.2.2.2).
    mutating func writeUnityMatrix() {
        for value in TrackDisplay.unityMatrix { u32(UInt32(bitPattern: value)) }
    }

    /// Writes a movie header (`mvhd`, §8.2.2).
    ///
    /// - Parameters:
    ///   - timescale: units per second.
    ///   - duration: the duration of the longest track, in those units; 0 if the samples are in fragments.
    ///   - nextTrackID: an unused track ID.
    mutating func writeMovieHeader(timescale: UInt32, duration: Int64, nextTrackID: UInt32) {
        fullBox("mvhd", version: 1) { writer in
            writer.u64(0)
            writer.u64(0)
            writer.u32(timescale)
            writer.u64(UInt64(clamping: duration))
            writer.u32(0x1_0000)
            writer.u16(0x100)
            writer.zeros(10)
            writer.writeUnityMatrix()
            writer.zeros(24)
            writer.u32(nextTrackID)
        }
    }
}

extension EditList.Edit {
    /// - Parameters:
    ///   - presented: the presented duration, in units of the movie.
    ///   - mediaTime: its start, in units of the track; -1 for an empty edit.
    package init(presented: Int64, from mediaTime: Int64) {
        self.init(duration: presented, mediaTime: mediaTime)
    }
}
