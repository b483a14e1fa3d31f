// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelFileSegments
package import CarrelMedia
package import CarrelMediaSource
import CarrelThreads

/// How one session presents its source.
package struct SessionSettings: Sendable {
    package var parameters: MediaSourceParameters
    package var form: SegmentForm
    /// Whether segments are fragments if transport streams cannot carry the tracks.
    package var allowsFragments: Bool
    package var policy: ProxyOptions.Policy
    package var rules: ProxyOptions.Rules
    package var demuxesAudio: Bool
    /// Has the keys of the source.
    package var keys: any SessionKeySource
    /// Tells the time at which keys end.
    package var clock: any WallClock
    /// For calls that block.
    package var threads: SessionThreads
    /// The origin of a separate subtitle file.
    package var subtitles: MediaOrigin
    /// Whether rights were redeemed for the source, as for an MS3 address.
    package var hasRights: Bool
    /// Takes licenses that are inside the source; nil if its keys have no licenses.
    package var licenses: (any LicenseTokenReceiver)?
    /// Whether keys may come from a license, which may withhold tracks.
    package var mayHaveLicense: Bool

    /// Creates settings; the parameters are the properties.
    package init(
        parameters: MediaSourceParameters,
        form: SegmentForm,
        allowsFragments: Bool,
        policy: ProxyOptions.Policy,
        rules: ProxyOptions.Rules,
        demuxesAudio: Bool,
        keys: any SessionKeySource,
        clock: any WallClock,
        threads: SessionThreads,
        subtitles: MediaOrigin,
        hasRights: Bool,
        licenses: (any LicenseTokenReceiver)? = nil,
        mayHaveLicense: Bool = false
    ) {
        self.parameters = parameters
        self.form = form
        self.allowsFragments = allowsFragments
        self.policy = policy
        self.rules = rules
        self.demuxesAudio = demuxesAudio
        self.keys = keys
        self.clock = clock
        self.threads = threads
        self.subtitles = subtitles
        self.hasRights = hasRights
        self.licenses = licenses
        self.mayHaveLicense = mayHaveLicense
    }

    /// Whether content that is not protected is taken: inside an MS3 address the rights speak for it.
    package var takesClearContent: Bool { policy == .open || hasRights }

    /// Whether there are playlists of sync pictures: the compatible system has none.
    package var hasPictureLists: Bool { rules == .rfc && policy != .compatible }

    /// The form of segments.
    package var output: ProxyOptions.Output { form.output }

    /// The form of the segments that are made of fragments and files.
    var segmentForm: FileSegments.Form { output == .fragments ? .fragment : .transportStream }

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
