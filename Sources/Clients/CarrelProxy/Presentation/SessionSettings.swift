// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMedia
import CarrelThreads

/// How one session presents its source.
struct SessionSettings: Sendable {
    var parameters: MediaSourceParameters
    var form: SegmentForm
    /// Whether segments are fragments if transport streams cannot carry the tracks.
    var allowsFragments: Bool
    var policy: ProxyOptions.Policy
    var rules: ProxyOptions.Rules
    var demuxesAudio: Bool
    /// Has the keys of the source.
    var keys: any ContentKeySource
    /// Tells the time at which keys end.
    var clock: any WallClock
    /// For calls that block.
    var threads: SessionThreads
    /// The origin of a separate subtitle file.
    var subtitles: MediaOrigin
    /// The rights of an MS3 address; nil for a source of another kind.
    var rights: SessionRights?

    /// Whether content that is not protected is taken: inside an MS3 address the rights speak for it.
    var takesClearContent: Bool { policy == .open || rights != nil }

    /// Whether there are playlists of sync pictures: the compatible system has none.
    var hasPictureLists: Bool { rules == .rfc && policy != .seed }

    /// The form of segments.
    var output: ProxyOptions.Output { form.output }

    /// The input of track selection for this caller and player.
    var wishes: TrackWishes {
        var wishes = TrackWishes()
        wishes.videoTrack = parameters.videoTrack
        wishes.audioTrack = parameters.audioTrack
        wishes.language = parameters.language
        wishes.videoCodecs = parameters.videoCodecs
        wishes.audioCodecs = parameters.audioCodecs
        wishes.output = form.wanted
        wishes.allowsFragments = allowsFragments
        wishes.demuxesAudio = demuxesAudio
        wishes.hasPictureLists = hasPictureLists
        return wishes
    }
}

/// The format of a session's segments: the requested one, unless the track plan needs another.
final class SegmentForm: Sendable {
    /// The requested format.
    let wanted: ProxyOptions.Output
    private let state: Locked<ProxyOptions.Output>

    init(_ wanted: ProxyOptions.Output) {
        self.wanted = wanted
        state = Locked(wanted)
    }

    var output: ProxyOptions.Output { state.withLock { $0 } }

    /// Takes the form of a plan.
    func use(_ output: ProxyOptions.Output) { state.withLock { $0 = output } }
}
