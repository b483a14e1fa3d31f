// SPDX-License-Identifier: Apache-2.0

package import CarrelAudio

/// The audio coding of a track.
package enum MP4Codec: Sendable, Hashable, CustomStringConvertible {
    /// MPEG-4 AAC, raw blocks without headers.
    case aac(AudioSpecificConfig)
    /// MP3 frames with their own headers, one a sample.
    case mp3
    /// Anything else, by the four characters of its sample entry: `alac`, `ac-3`, `Opus`, …
    case other(String)

    /// The codec's name for people.
    package var description: String {
        switch self {
        case .aac: "AAC"
        case .mp3: "MP3"
        case .other(let type): Self.names[type] ?? "codec \(type)"
        }
    }

    private static let names = [
        "alac": "Apple Lossless", "ac-3": "AC-3", "ec-3": "E-AC-3", "ac-4": "AC-4", "Opus": "Opus", "fLaC": "FLAC", "samr": "AMR",
        "sawb": "AMR wideband", "sowt": "PCM", "twos": "PCM", "lpcm": "PCM", "ipcm": "PCM", "in24": "PCM", "in32": "PCM",
        "fl32": "PCM", "fl64": "PCM", "raw ": "PCM", "ulaw": "µ-law", "alaw": "A-law", "dtsc": "DTS", "dtsh": "DTS-HD",
        "mlpa": "TrueHD",
        "vorb": "Vorbis", "mp4a": "an MPEG-4 audio codec", "QDM2": "QDesign Music", "ima4": "IMA ADPCM", "mhm1": "MPEG-H",
        "mha1": "MPEG-H",
    ]
}
