// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelHLS
import CarrelTS

/// The first bytes of a segment after its decryption, by which a key is judged.
struct ClearHead {
    /// The containers of segments (RFC 8216 §3), and other content that segments have.
    enum Content { case transportStream, fragments, audio, other, unknown }

    let content: Content
    /// Bits of evidence that the bytes are not random.
    let bits: Int

    /// Bytes of a head.
    static let length = 4096

    /// - Parameter bytes: the first bytes, at most.
    init(_ bytes: RawSpan) {
        let boxes: [StaticString] = ["ftyp", "styp", "moov", "moof", "sidx", "emsg", "prft", "free", "mdat", "skip", "pssh"]
        let others: [StaticString] = ["WEBVTT", "\u{feff}WEBVTT", "<?xml", "<tt", "OggS", "fLaC", "RIFF"]
        if bytes.byteCount > 0, bytes.u8(at: 0) == 0x47 {
            let places = stride(from: 0, to: bytes.byteCount, by: TransportStream.packetLength).prefix {
                bytes.u8(at: $0) == 0x47
            }
            let all = (bytes.byteCount + TransportStream.packetLength - 1) / TransportStream.packetLength
            if places.count >= min(all, 3) {
                (content, bits) = (.transportStream, places.count * 8)
                return
            }
        }
        if boxes.contains(where: { bytes.matches($0, at: 4) }) {
            (content, bits) = (.fragments, 28)
        } else if bytes.matches("ID3", at: 0) {
            (content, bits) = (.audio, 24)
        } else if let length = Self.frameLength(bytes, at: 0) {
            let isFollowed = Self.frameLength(bytes, at: length) != nil
            (content, bits) = (.audio, isFollowed ? 24 : 12)
        } else if others.contains(where: { bytes.matches($0, at: 0) }) {
            (content, bits) = (.other, 24)
        } else if bytes.byteCount >= 3, bytes.u16(at: 0) == 0xffd8, bytes.u8(at: 2) == 0xff {
            (content, bits) = (.other, 24)
        } else {
            (content, bits) = (.unknown, 0)
        }
    }

    /// Bytes of the audio frame at an offset; nil if none begins there.
    static func frameLength(_ bytes: RawSpan, at offset: Int) -> Int? {
        let length =
            ADTSHeader.parse(bytes, at: offset)?.frameLength ?? AC3SyncFrame.parse(bytes, at: offset)?.frameLength
            ?? MPEGAudioFrame.parse(bytes, at: offset)?.frameLength
        // shorter than its header, a frame would never end
        return length.flatMap { $0 >= 7 ? $0 : nil }
    }
}
