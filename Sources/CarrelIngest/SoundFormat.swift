/// The formats of sound that are taken. MP3 and AAC in MP4 are taken as they are, the others by way of ffmpeg.
///
/// All of them hold sound themselves; none names other files.
package struct SoundFormat: Sendable {
    /// What people call it.
    package let name: String
    /// What ffmpeg calls it.
    let demuxer: String

    package static let all = [
        SoundFormat(name: "MP3", demuxer: "mp3"), SoundFormat(name: "M4A and M4B", demuxer: "mov"),
        SoundFormat(name: "FLAC", demuxer: "flac"), SoundFormat(name: "WAV", demuxer: "wav"),
        SoundFormat(name: "Wave64", demuxer: "w64"), SoundFormat(name: "Ogg and Opus", demuxer: "ogg"),
        SoundFormat(name: "AIFF", demuxer: "aiff"), SoundFormat(name: "CAF", demuxer: "caf"),
        SoundFormat(name: "AAC", demuxer: "aac"), SoundFormat(name: "Matroska and WebM", demuxer: "matroska"),
        SoundFormat(name: "AC-3", demuxer: "ac3"), SoundFormat(name: "E-AC-3", demuxer: "eac3"),
        SoundFormat(name: "Monkey's Audio", demuxer: "ape"), SoundFormat(name: "WavPack", demuxer: "wv"),
        SoundFormat(name: "True Audio", demuxer: "tta"), SoundFormat(name: "Windows Media", demuxer: "asf"),
        SoundFormat(name: "AMR", demuxer: "amr"), SoundFormat(name: "AU", demuxer: "au"),
        SoundFormat(name: "DSF", demuxer: "dsf"),
    ]

    /// All of them, in a sentence.
    package static let names = all.map(\.name).joined(separator: ", ")

    /// The only formats that ffmpeg may open.
    static let whitelist = all.map(\.demuxer).joined(separator: ",")
}
