// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The first bytes of an image, which identify its format and size.
struct PictureHead {
    /// The bytes read so far.
    private let bytes: [UInt8]
    /// The length of the whole image.
    private let length: Int64

    /// Bytes that hold the size of nearly every picture.
    static let size: Int64 = 4096
    /// Bytes of a JPEG picture searched for its size: profiles and thumbnails come before it.
    static let largeSize: Int64 = 64 << 10

    /// - Parameters:
    ///   - bytes: the first bytes.
    ///   - length: the length of the whole image, as its container declares.
    init(_ bytes: [UInt8], length: Int64) {
        self.bytes = bytes
        self.length = max(length, Int64(bytes.count))
    }

    /// The result of the check.
    enum Finding: Equatable {
        /// It has a size, or is of a kind whose size is not looked for.
        case picture
        /// Its size follows after these bytes.
        case unfinished
        /// The reason why browsers cannot show it.
        case fault(String)
    }

    var finding: Finding {
        if isAt(0, "\u{89}PNG\r\n\u{1a}\n") { return isAt(12, "IHDR") ? size(16, 4, isBig: true) : cutOff }
        if bytes.starts(with: [0xff, 0xd8, 0xff]) { return jpeg }
        if isAt(0, "GIF8") { return size(6, 2, isBig: false) }
        if isAt(0, "RIFF"), isAt(8, "WEBP") { return webP }
        if isAt(0, "BM") { return size(18, number(14, 4, isBig: false) == 12 ? 2 : 4, isBig: false) }
        if isAt(4, "ftypavif") || isAt(4, "ftypavis") || isAt(4, "ftypmif1") { return .picture }
        if [[0x49, 0x49, 0x2a, 0], [0x4d, 0x4d, 0, 0x2a], [0xff, 0x0a], [0, 0, 0, 12, 0x4a, 0x58, 0x4c, 0x20]]
            .contains(where: { bytes.starts(with: $0 as [UInt8]) })
        {
            return .picture
        }
        return .fault("is not a picture of a known kind")
    }

    /// Checks the end of an image.
    ///
    /// - Parameter tail: its last bytes.
    /// - Returns: whether the image is complete; true for formats without an end marker.
    func ends(with tail: [UInt8]) -> Bool {
        let mark: [UInt8] =
            isAt(1, "PNG") ? Array("IEND".utf8) : bytes.starts(with: [0xff, 0xd8]) ? [0xff, 0xd9] : []
        return mark.isEmpty || tail.indices.contains { tail[$0...].starts(with: mark) }
    }

    private var cutOff: Finding { .fault("is cut off") }

    /// Segments up to the frame that has the size (T.81 B.1, B.2.2).
    private var jpeg: Finding {
        var at = 2
        while let marker = byte(at + 1), let first = byte(at) {
            guard first == 0xff else { return .fault("is damaged") }
            if marker == 0xff {
                at += 1
            } else if (0xc0...0xcf).contains(marker), ![0xc4, 0xc8, 0xcc].contains(marker) {
                guard let width = number(at + 7, 2, isBig: true) else { break }
                // a height of 0 is said later (T.81 B.2.5)
                return width == 0 ? noSize : .picture
            } else {
                guard let length = number(at + 2, 2, isBig: true), length >= 2 else { break }
                at += 2 + length
            }
        }
        return Int64(at) + 9 > length || byte(at + 8) != nil ? cutOff : .unfinished
    }

    private var webP: Finding {
        guard let declared = number(4, 4, isBig: false), Int64(declared) + 8 <= length else { return cutOff }
        if isAt(12, "VP8X") || isAt(12, "VP8L") { return byte(29) == nil ? cutOff : .picture }
        guard isAt(12, "VP8 "), let width = number(26, 2, isBig: false), let height = number(28, 2, isBig: false) else {
            return cutOff
        }
        return width & 0x3fff == 0 || height & 0x3fff == 0 ? noSize : .picture
    }

    private var noSize: Finding { .fault("has no size") }

    private func size(_ offset: Int, _ count: Int, isBig: Bool) -> Finding {
        guard let width = number(offset, count, isBig: isBig), let height = number(offset + count, count, isBig: isBig) else {
            return cutOff
        }
        return width == 0 || height == 0 ? noSize : .picture
    }

    private func byte(_ offset: Int) -> UInt8? { bytes.indices.contains(offset) ? bytes[offset] : nil }

    private func number(_ offset: Int, _ count: Int, isBig: Bool) -> Int? {
        guard offset + count <= bytes.count else { return nil }
        let part = bytes[offset..<offset + count]
        return (isBig ? Array(part) : part.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }

    private func isAt(_ offset: Int, _ text: String) -> Bool {
        bytes.dropFirst(offset).starts(with: text.unicodeScalars.lazy.map { UInt8(truncatingIfNeeded: $0.value) })
    }
}
