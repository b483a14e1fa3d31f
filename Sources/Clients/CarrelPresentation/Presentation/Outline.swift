// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
package import CarrelReader

/// The variants and renditions of a presentation.
package struct Outline: Sendable {
    /// A combination of tracks at one bit rate.
    package struct Variant: Sendable {
        package var name: RenditionName
        /// Bits a second, at most.
        package var bandwidth: Int
        package var codecs: String?
        package var width: Int?
        package var height: Int?
        package var frameRate: String?
        /// Whether audio is in the group of renditions instead.
        package var hasAudioGroup = false
    }

    /// A separate audio or subtitle rendition.
    package struct Rendition: Sendable {
        package var name: RenditionName
        /// The name that players show.
        package var label: String
        package var language: String?
        package var isDefault = false

        package init(name: RenditionName, label: String, language: String?) {
            self.name = name
            self.label = label
            self.language = language
        }
    }

    package var variants: [Variant] = []
    package var audio: [Rendition] = []
    package var texts: [Rendition] = []
    /// Playlists of sync pictures, with their bit rates.
    package var pictures: [Variant] = []
    /// Whether segments are added and expire.
    package var isLive = false
    /// The audio of the source, multiplexed with video or as separate renditions.
    package var languages: [Rendition] = []
    /// Requests of the caller that the source cannot meet.
    package var warnings: [Warning] = []

    package enum Warning: Sendable, Equatable {
        /// Segments have no other form.
        case transportStream
        /// A part of the source has the address of another origin.
        case remoteElement(String)
        /// The license withholds a track, with the track and the reason.
        case withheld(String)

        /// A lower-case sentence without a period.
        package var text: String {
            switch self {
            case .transportStream: "the source has transport streams, which go out unchanged, not as fragmented MP4"
            case .remoteElement(let url):
                "a part of the manifest at \(MediaOrigin.shown(url)) is not loaded: it is of another origin"
            case .withheld(let text): "left out: \(text)"
            }
        }

        /// The event for those who follow what the proxy does.
        package var trace: Trace {
            switch self {
            case .transportStream: Trace(.proxy, .now(), "transport streams go out unchanged, not as fragments")
            case .remoteElement(let url): Trace(.proxy, .now(), "a remote element is not loaded", [.init("url", .url(url))])
            case .withheld: Trace(.proxy, .now(), "a track is left out")
            }
        }
    }
}

extension Trace.Channel {
    /// The playlist proxy.
    package static let proxy = Trace.Channel("proxy")
}
