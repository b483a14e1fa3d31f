// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension Format {
    /// The format of a PDF, audio or image file by its first bytes.
    ///
    /// - Parameter head: the first bytes of the file.
    /// - Returns: nil if no signature matches.
    static func recognized(by head: [UInt8]) -> Format? {
        func starts(_ text: String, at offset: Int = 0) -> Bool { head.dropFirst(offset).starts(with: text.utf8) }
        if PDFHeader.isIn(head) { return .pdf }
        if starts("ftypodcf", at: 4) { return .dcf }
        let type: String? =
            switch true {
            case starts("ID3"), head.count > 1 && head[0] == 0xff && head[1] & 0xe6 == 0xe2: "audio/mpeg"
            case head.count > 1 && head[0] == 0xff && head[1] & 0xf6 == 0xf0: "audio/aac"
            case starts("fLaC"): "audio/flac"
            case starts("OggS"): starts("OpusHead", at: 28) ? "audio/opus" : "audio/ogg"
            case starts("RIFF") && starts("WAVE", at: 8): "audio/wav"
            case starts("FORM") && starts("AIF", at: 8): "audio/aiff"
            case starts("ftypM4A", at: 4), starts("ftypM4B", at: 4), starts("ftypmp4", at: 4), starts("ftypisom", at: 4):
                "audio/mp4"
            case head.starts(with: [0xff, 0xd8, 0xff]): "image/jpeg"
            case head.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]): "image/png"
            case starts("GIF8"): "image/gif"
            case starts("RIFF") && starts("WEBP", at: 8): "image/webp"
            case starts("ftypavif", at: 4): "image/avif"
            default: nil
            }
        return type.flatMap { type in media.first { $0.mediaType.essence == type } }
    }
}
