// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio

/// One track of a file.
package struct MP4Track: Sendable {
    /// How a track's samples become an elementary stream of self-delimiting frames.
    package enum Framing: Sendable, Hashable {
        /// Each sample gets an ADTS header.
        case adts(AudioFormat)
        /// Each sample is an MP3 frame already.
        case mp3
        /// Not without transcoding: why, as a lower-case phrase.
        case transcode(String)
    }

    /// Which track, as the file numbers them.
    package internal(set) var id: UInt32 = 0
    /// The four characters of its handler: `soun`, `vide`, `text`, `sbtl`, …
    package internal(set) var kind = ""
    /// Whether it is meant to be played.
    package internal(set) var isEnabled = true
    /// Units a second for its durations.
    package internal(set) var timescale = 0
    /// Duration of its media by its header, in units of `timescale`; 0 if it is not declared.
    package internal(set) var declaredDuration: Int64 = 0
    /// ISO 639-2, three letters; nil if undetermined.
    package internal(set) var language: String?
    /// How its pictures are shown; nil if its header does not declare it.
    package internal(set) var display: TrackDisplay?
    /// The audio coding; nil unless it is audio.
    package internal(set) var codec: MP4Codec?
    /// The protection of its samples.
    package internal(set) var protection: MP4Protection?
    /// Samples per channel and second in the sample entry; the codec's own configuration takes precedence.
    package internal(set) var entrySampleRate = 0
    /// Number of channels in the sample entry; the codec's own configuration takes precedence.
    package internal(set) var entryChannels = 0
    /// Samples that the movie lists, those in fragments not counted.
    package var listedSampleCount: Int { tables.sampleCount }
    /// The tracks that hold its chapters.
    package internal(set) var chapterTrackIDs: [UInt32] = []

    /// Its sample descriptions, in order; samples name them by number.
    package internal(set) var entries: [SampleEntry] = []
    /// The sample groups whose encryption differs from the description.
    package internal(set) var sampleGroups: [TrackEncryption] = []
    /// The part of its media that is presented, as edits; none presents all.
    package internal(set) var editList = EditList()
    /// Units a second of the durations of its edits.
    package internal(set) var movieTimescale = 0

    var hasSeveralDescriptions: Bool { entries.count > 1 }
    var auxiliary = AuxiliaryInformation()
    var tables = SampleTables()
    var fragmentDefaults = FragmentDefaults()
    var gapless: GaplessInfo?

    /// The framing that its samples need to become a stream.
    package var framing: Framing {
        if let protection { return .transcode("track is protected by \(protection)") }
        if hasSeveralDescriptions { return .transcode("track changes its format") }
        switch codec {
        case .aac(let config):
            switch config.format {
            case .success(let format): return .adts(format)
            case .failure(let refusal): return .transcode(refusal.description)
            }
        case .mp3: return .mp3
        case .other: return .transcode("\(codec?.description ?? "sound") is not streamed")
        case nil: return .transcode("track has no sound")
        }
    }
}

/// The silence around the audio by iTunes (`iTunSMPB`), in samples.
struct GaplessInfo {
    var delay: Int64
    var padding: Int64

    /// Reads the text: hexadecimal numbers, the second and third of which are delay and padding.
    init?(_ text: String) {
        let fields = text.split(separator: " ")
        guard fields.count >= 4, let delay = Int64(fields[1], radix: 16), let padding = Int64(fields[2], radix: 16) else {
            return nil
        }
        guard delay >= 0, padding >= 0, delay < 1 << 20, padding < 1 << 20 else { return nil }
        self.delay = delay
        self.padding = padding
    }
}
