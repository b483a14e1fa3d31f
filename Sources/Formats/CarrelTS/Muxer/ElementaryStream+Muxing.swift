// SPDX-License-Identifier: Apache-2.0

package import CarrelVideo

extension ElementaryStream {
    /// Describes a picture stream.
    package static func video(_ codec: VideoCodec, pid: UInt16) -> ElementaryStream {
        switch codec {
        case .h264: ElementaryStream(pid: pid, type: 0x1b)
        case .h265: ElementaryStream(pid: pid, type: 0x24, descriptors: [.registration("HEVC")])
        }
    }

    /// Describes a stream of AAC framed as ADTS.
    package static func aac(pid: UInt16) -> ElementaryStream {
        ElementaryStream(pid: pid, type: 0x0f)
    }

    /// Describes a stream of MPEG audio; `isHalfRate` is the audio of MPEG-2, at 24 kHz and less.
    package static func mpegAudio(pid: UInt16, isHalfRate: Bool) -> ElementaryStream {
        ElementaryStream(pid: pid, type: isHalfRate ? 0x04 : 0x03)
    }

    /// Describes a stream of AC-3 (ATSC A/52 annex A).
    package static func ac3(pid: UInt16) -> ElementaryStream {
        ElementaryStream(pid: pid, type: 0x81, descriptors: [.registration("AC-3")])
    }

    /// Describes a stream of E-AC-3 (ATSC A/52 annex G).
    package static func enhancedAC3(pid: UInt16) -> ElementaryStream {
        ElementaryStream(pid: pid, type: 0x87, descriptors: [.registration("EAC3")])
    }

    /// Describes a stream of timed ID3 tags (Timed Metadata for HTTP Live Streaming, table 2-3).
    package static func timedID3(pid: UInt16) -> ElementaryStream {
        let format: [UInt8] = [0xff, 0xff] + Array("ID3 ".utf8) + [0xff] + Array("ID3 ".utf8)
        return ElementaryStream(pid: pid, type: 0x15, descriptors: [StreamDescriptor(tag: 0x26, content: format + [0, 0x0f])])
    }

    /// `metadata_pointer_descriptor` of a program with timed ID3 tags.
    static func metadataPointer(program: UInt16) -> StreamDescriptor {
        let format: [UInt8] = [0xff, 0xff] + Array("ID3 ".utf8) + [0xff] + Array("ID3 ".utf8)
        return StreamDescriptor(tag: 0x25, content: format + [0, 0x1f, UInt8(program >> 8), UInt8(program & 255)])
    }

    /// Whether pictures are in it.
    var isVideo: Bool {
        if case .video = coding { return true }
        return false
    }

    /// Whether audio is in it, which can carry the clock.
    var isAudio: Bool { [.mpegAudio, .aac, .ac3, .enhancedAC3].contains(coding) }
}
