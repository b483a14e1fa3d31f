// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelVideo

/// One stream of a program: its packet identifier, type and descriptors (ISO/IEC 13818-1 §2.4.4.8).
package struct ElementaryStream: Sendable, Hashable {
    /// The coding of a stream.
    package enum Coding: Sendable, Hashable {
        /// H.264 or H.265 as a byte stream.
        case video(VideoCodec)
        /// MPEG audio of Layer II or III.
        case mpegAudio
        /// AAC framed as ADTS.
        case aac
        /// AAC framed as LATM: named, not taken apart.
        case latm
        /// AC-3.
        case ac3
        /// E-AC-3.
        case enhancedAC3
        /// ID3 tags that belong to a time.
        case timedID3
        /// Sections of a private table.
        case privateSections
        /// Any other type.
        case other
    }

    /// Types that consist of sections: private ones, DSM-CC, metadata, and advertisement cues (SCTE 35).
    private static let sectionTypes: Set<UInt8> = [0x05, 0x0a, 0x0b, 0x0c, 0x0d, 0x14, 0x16, 0x86]

    /// Whether its units are sections.
    package var hasSections: Bool { Self.sectionTypes.contains(type) }

    /// The packet identifier.
    package var pid: UInt16
    /// `stream_type` (table 2-34).
    package var type: UInt8
    /// Descriptors of the stream.
    package var descriptors: [StreamDescriptor]

    /// Creates a stream.
    package init(pid: UInt16, type: UInt8, descriptors: [StreamDescriptor] = []) {
        self.pid = pid
        self.type = type
        self.descriptors = descriptors
    }

    /// The coding, by type and descriptors; for an encrypted stream, the coding after decryption.
    package var coding: Coding {
        switch type {
        case 0x03, 0x04: .mpegAudio
        case 0x05: .privateSections
        case 0x06: privateCoding
        case 0x0f, 0xcf: .aac
        case 0x11: .latm
        case 0x15: isTimedID3 ? .timedID3 : .other
        case 0x1b, 0xdb: .video(.h264)
        case 0x24: .video(.h265)
        case 0x81, 0xc1: .ac3
        case 0x87, 0xc2: .enhancedAC3
        default: .other
        }
    }

    /// Whether the samples are encrypted (MPEG-2 Stream Encryption Format for HTTP Live Streaming).
    package var isSampleEncrypted: Bool { [0xdb, 0xcf, 0xc1, 0xc2].contains(type) }

    /// Streams of private data that DVB and ATSC name by descriptors (ETSI EN 300 468 annex D).
    private var privateCoding: Coding {
        for descriptor in descriptors {
            if descriptor.tag == 0x6a || descriptor.names("AC-3", tag: 0x05) { return .ac3 }
            if descriptor.tag == 0x7a || descriptor.names("EAC3", tag: 0x05) { return .enhancedAC3 }
            if descriptor.names("HEVC", tag: 0x05) { return .video(.h265) }
        }
        return .other
    }

    private var isTimedID3: Bool {
        let metadata = descriptors.filter { $0.tag == 0x26 }
        // application format 0xffff with the identifier, then the format
        return metadata.isEmpty || metadata.contains { $0.content.rawSpan.matches("ID3 ", at: 2) }
    }
}
