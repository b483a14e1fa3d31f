// SPDX-License-Identifier: Apache-2.0

/// The accepted audio formats. MP3 and AAC in MP4 are kept unchanged; others are transcoded with ffmpeg.
///
/// All contain their audio; none refers to other files.
package struct AcceptedAudioFormat: Sendable {
    /// The name for people.
    package let name: String
    /// The name in ffmpeg.
    let demuxer: String

    package static let all = [
        AcceptedAudioFormat(name: "MP3", demuxer: "mp3"), AcceptedAudioFormat(name: "M4A and M4B", demuxer: "mov"),
        AcceptedAudioFormat(name: "FLAC", demuxer: "flac"), AcceptedAudioFormat(name: "WAV", demuxer: "wav"),
        AcceptedAudioFormat(name: "Wave64", demuxer: "w64"), AcceptedAudioFormat(name: "Ogg and Opus", demuxer: "ogg"),
        AcceptedAudioFormat(name: "AIFF", demuxer: "aiff"), AcceptedAudioFormat(name: "CAF", demuxer: "caf"),
        AcceptedAudioFormat(name: "AAC", demuxer: "aac"), AcceptedAudioFormat(name: "Matroska and WebM", demuxer: "matroska"),
        AcceptedAudioFormat(name: "AC-3", demuxer: "ac3"), AcceptedAudioFormat(name: "E-AC-3", demuxer: "eac3"),
        AcceptedAudioFormat(name: "Monkey's Audio", demuxer: "ape"), AcceptedAudioFormat(name: "WavPack", demuxer: "wv"),
        AcceptedAudioFormat(name: "True Audio", demuxer: "tta"), AcceptedAudioFormat(name: "Windows Media", demuxer: "asf"),
        AcceptedAudioFormat(name: "AMR", demuxer: "amr"), AcceptedAudioFormat(name: "AU", demuxer: "au"),
        AcceptedAudioFormat(name: "DSF", demuxer: "dsf"),
    ]

    /// All of them, in a sentence.
    package static let names = all.map(\.name).joined(separator: ", ")

    /// The only formats that ffmpeg may open.
    static let whitelist = all.map(\.demuxer).joined(separator: ",")
}
