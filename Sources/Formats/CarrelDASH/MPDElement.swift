// SPDX-License-Identifier: Apache-2.0

import CarrelXML

extension MPDVisitor {
    /// The elements of an MPD with a meaning.
    enum Element {
        case mpd, period, adaptationSet, representation, information, timeline, listed, preselection
        case protection, segmentEncryption, cryptoTimeline, marlinContentIDs, eventStream, inbandEventStream, event
        /// An element whose text is read at its end.
        case text(Text)
        /// An element whose content is ignored.
        case other

        /// Bytes that it takes in memory, about.
        func size(_ tag: borrowing XMLTag) -> Int {
            let size: Int =
                switch self {
                case .mpd, .timeline, .other, .segmentEncryption, .cryptoTimeline, .marlinContentIDs, .inbandEventStream: 0
                case .period: MemoryLayout<MPDPeriod>.stride
                case .adaptationSet: MemoryLayout<MPDAdaptationSet>.stride
                case .representation: MemoryLayout<MPDRepresentation>.stride
                case .information: MemoryLayout<SegmentInformation>.stride
                case .listed: MemoryLayout<SegmentInformation.ListedSegment>.stride
                case .preselection: MemoryLayout<MPDPreselection>.stride
                // a key id takes twice its digits
                case .protection: MemoryLayout<MPDContentProtection>.stride + 2 * tag.valueBytes
                case .eventStream: MemoryLayout<MPDEventStream>.stride
                case .event: MemoryLayout<MPDEventStream.Event>.stride
                case .text: 96
                }
            return size == 0 ? 0 : size + tag.valueBytes
        }
    }

    /// The elements whose text is read.
    enum Text {
        case baseURL(MPDBaseURL)
        case label(MPDLabel)
        case location, patchLocation, pssh, playReady, licenseURL, authorizationURL, marlinContentID
    }
}
