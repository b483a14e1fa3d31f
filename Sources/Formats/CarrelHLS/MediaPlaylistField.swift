// SPDX-License-Identifier: Apache-2.0

/// The parts of a media playlist's head and end that tags of their own stand for, in the order in which they are written.
enum MediaPlaylistField: CaseIterable {
    case version, independentSegments, start, variables, targetDuration, kind, mediaSequence, discontinuitySequence, iFramesOnly
    case imagesOnly, serverControl, partTarget, skipped
    // after the segments
    case trailingDateRanges, trailingParts, preloadHints, renditionReports, isEnded

    /// The field of a tag; nil for segment tags and unknown ones.
    init?(_ tag: PlaylistTag) {
        switch tag {
        case .version: self = .version
        case .independentSegments: self = .independentSegments
        case .start: self = .start
        case .define: self = .variables
        case .targetDuration: self = .targetDuration
        case .playlistType: self = .kind
        case .mediaSequence: self = .mediaSequence
        case .discontinuitySequence: self = .discontinuitySequence
        case .iFramesOnly: self = .iFramesOnly
        case .imagesOnly: self = .imagesOnly
        case .serverControl: self = .serverControl
        case .partInformation: self = .partTarget
        case .skip: self = .skipped
        case .preloadHint: self = .preloadHints
        case .renditionReport: self = .renditionReports
        case .endList: self = .isEnded
        default: return nil
        }
    }

    var isOfHead: Bool {
        switch self {
        case .trailingDateRanges, .trailingParts, .preloadHints, .renditionReports, .isEnded: false
        default: true
        }
    }

    func isEqual(_ a: MediaPlaylist, _ b: MediaPlaylist) -> Bool {
        switch self {
        case .version: a.version == b.version
        case .independentSegments: a.independentSegments == b.independentSegments
        case .start: a.start == b.start
        case .variables: a.variables == b.variables
        case .targetDuration: a.targetDuration == b.targetDuration
        case .kind: a.kind == b.kind
        case .mediaSequence: a.mediaSequence == b.mediaSequence
        case .discontinuitySequence: a.discontinuitySequence == b.discontinuitySequence
        case .iFramesOnly: a.iFramesOnly == b.iFramesOnly
        case .imagesOnly: a.imagesOnly == b.imagesOnly
        case .serverControl: a.serverControl == b.serverControl
        case .partTarget: a.partTarget == b.partTarget
        case .skipped: a.skipped == b.skipped
        case .trailingDateRanges: a.trailingDateRanges == b.trailingDateRanges
        case .trailingParts: a.trailingParts == b.trailingParts
        case .preloadHints: a.preloadHints == b.preloadHints
        case .renditionReports: a.renditionReports == b.renditionReports
        case .isEnded: a.isEnded == b.isEnded
        }
    }

    /// Writes the field; nothing if it has the default value of an absent tag, except for the target duration and the sequence.
    func write(_ playlist: MediaPlaylist, to out: inout [UInt8]) throws(PlaylistError) {
        switch self {
        case .version: if playlist.version > 1 { out.append(line: "#EXT-X-VERSION:\(playlist.version)") }
        case .independentSegments: if playlist.independentSegments { out.append(line: "#EXT-X-INDEPENDENT-SEGMENTS") }
        case .start: if let start = playlist.start { out.append(line: "#EXT-X-START:\(try start.attributes.text())") }
        case .variables:
            for variable in playlist.variables { out.append(line: "#EXT-X-DEFINE:\(try variable.attributes.text())") }
        case .targetDuration: out.append(line: "#EXT-X-TARGETDURATION:\(playlist.targetDuration)")
        case .kind: if let kind = playlist.kind { out.append(line: "#EXT-X-PLAYLIST-TYPE:\(kind.rawValue)") }
        case .mediaSequence: out.append(line: "#EXT-X-MEDIA-SEQUENCE:\(playlist.mediaSequence)")
        case .discontinuitySequence:
            if playlist.discontinuitySequence > 0 {
                out.append(line: "#EXT-X-DISCONTINUITY-SEQUENCE:\(playlist.discontinuitySequence)")
            }
        case .iFramesOnly: if playlist.iFramesOnly { out.append(line: "#EXT-X-I-FRAMES-ONLY") }
        case .imagesOnly: if playlist.imagesOnly { out.append(line: "#EXT-X-IMAGES-ONLY") }
        case .serverControl:
            if let control = playlist.serverControl { out.append(line: "#EXT-X-SERVER-CONTROL:\(try control.attributes.text())") }
        case .partTarget:
            if let target = playlist.partTarget { out.append(line: "#EXT-X-PART-INF:PART-TARGET=\(target.secondsText)") }
        case .skipped: if let skipped = playlist.skipped { out.append(line: "#EXT-X-SKIP:\(try skipped.tagAttributes.text())") }
        case .trailingDateRanges:
            for range in playlist.trailingDateRanges { out.append(line: "#EXT-X-DATERANGE:\(try range.attributes.text())") }
        case .trailingParts:
            for part in playlist.trailingParts { out.append(line: "#EXT-X-PART:\(try part.tagAttributes.text())") }
        case .preloadHints:
            for hint in playlist.preloadHints { out.append(line: "#EXT-X-PRELOAD-HINT:\(try hint.attributes.text())") }
        case .renditionReports:
            for report in playlist.renditionReports {
                out.append(line: "#EXT-X-RENDITION-REPORT:\(try report.attributes.text())")
            }
        case .isEnded: if playlist.isEnded { out.append(line: "#EXT-X-ENDLIST") }
        }
    }
}
