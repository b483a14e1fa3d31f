// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// The framing of an audio stream: how a header determines the next header's position.
enum AudioFraming: Sendable {
    case adts, mpeg, ac3

    struct Frame {
        var length: Int
        var samples: Int
        var sampleRate: Int
        /// Whether following frames may belong to its unit: dependent substreams of E-AC-3.
        var isExtensible = false
        /// The frame belongs to the unit of the previous frame.
        var isExtension = false
    }

    /// Number of bytes that identify the start of a frame.
    var headerLength: Int {
        switch self {
        case .adts: 7
        case .mpeg: 4
        case .ac3: AC3SyncFrame.headerLength
        }
    }

    func frame(_ bytes: RawSpan, at offset: Int) -> Frame? {
        switch self {
        case .adts:
            guard let header = ADTSHeader.parse(bytes, at: offset) else { return nil }
            return Frame(
                length: header.frameLength,
                samples: ADTSHeader.samplesPerBlock * header.blocks,
                sampleRate: header.sampleRate
            )
        case .mpeg:
            guard let frame = MPEGAudioFrame.parse(bytes, at: offset) else { return nil }
            return Frame(length: frame.frameLength, samples: frame.samplesPerFrame, sampleRate: frame.sampleRate)
        case .ac3:
            guard let frame = AC3SyncFrame.parse(bytes, at: offset) else { return nil }
            return Frame(
                length: frame.frameLength,
                samples: frame.samplesPerFrame,
                sampleRate: frame.sampleRate,
                isExtensible: frame.isEnhanced,
                isExtension: frame.isEnhanced && (frame.substream == .dependent || frame.substreamNumber > 0)
            )
        }
    }
}
