// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The first bytes of media segments (RFC 8216 §3): packets, boxes, audio without a container, subtitles.
enum MediaBeginning {
    private static let boxes: [StaticString] = [
        "ftyp", "styp", "moov", "moof", "mdat", "sidx", "ssix", "emsg", "prft", "pdin", "uuid", "free", "skip", "wide",
    ]

    /// Whether bytes begin as fragmented MP4 does.
    static func isBoxes(_ head: [UInt8]) -> Bool { head.count >= 8 && boxes.contains { head.rawSpan.matches($0, at: 4) } }

    /// Whether bytes begin as a media segment does.
    static func matches(_ head: [UInt8]) -> Bool {
        let bytes = head.rawSpan
        guard let first = head.first else { return true }
        if first == 0x47 || head.count < 8 { return true }
        if boxes.contains(where: { bytes.matches($0, at: 4) }) { return true }
        // ID3, MPEG audio and ADTS, AC-3, WebVTT with and without its mark
        return bytes.matches("ID3", at: 0) || first == 0xff && head[1] & 0xe0 == 0xe0 || first == 0x0b && head[1] == 0x77
            || bytes.matches("WEBVTT", at: 0) || head.starts(with: [0xef, 0xbb, 0xbf])
    }
}
