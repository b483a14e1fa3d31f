// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMedia
import CarrelTimedText

/// Subtitles that are packaged.
package struct PackagingText: Sendable {
    /// Its name in messages.
    package let name: String
    /// RFC 5646; nil if unknown.
    package let language: String?
    private let file: WebVTTFile
    private let bytes: [UInt8]

    /// Bytes of all segments, at most.
    private static let limit = 64 << 20

    /// - Parameters:
    ///   - name: the name in messages.
    ///   - bytes: a WebVTT file.
    ///   - language: RFC 5646; nil if unknown.
    /// - Throws: `malformed` with the name of the file and the byte.
    package init(name: String, _ bytes: [UInt8], language: String?) throws(MediaError) {
        self.name = name
        self.language = language
        self.bytes = bytes
        do throws(Malformed) { file = try WebVTTFile(bytes.rawSpan) } catch {
            throw MediaError(.malformed, "\(name): \(error.description)")
        }
    }

    /// Whether a file begins as WebVTT does.
    package static func isText(_ beginning: [UInt8]) -> Bool {
        let text = beginning.starts(with: [0xef, 0xbb, 0xbf]) ? beginning.dropFirst(3) : beginning[...]
        return text.starts(with: Array("WEBVTT".utf8))
    }

    /// The tag of a track's language (RFC 5646).
    ///
    /// - Parameter code: ISO 639-2; nil if unknown.
    /// - Returns: the tag; nil if the language is unknown.
    package static func language(ofTrack code: String?) -> String? { code.map { LanguageTag.short($0) } }

    /// The language in the name of a file, as in `film.de.vtt`; nil if there is none.
    package static func language(ofFile path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        let parts = name.split(separator: ".")
        guard parts.count >= 3 else { return nil }
        let tag = parts[parts.count - 2]
        let subtags = tag.split(separator: "-")
        guard let first = subtags.first, (2...3).contains(first.utf8.count), tag.utf8.count <= 35,
            subtags.allSatisfy({ $0.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || 0x61...0x7a ~= $0 | 0x20 } })
        else { return nil }
        return LanguageTag.short(String(first)) + tag.dropFirst(first.count)
    }

    /// Writes the whole file, and the segments of playlists.
    ///
    /// - Parameters:
    ///   - name: the name of its folder.
    ///   - cuts: the start of each segment, in microseconds.
    ///   - end: the end of the last one.
    ///   - origin: the time in the media at which the presentation begins, in 90 kHz ticks.
    ///   - folder: gets the files.
    /// - Returns: the rendition.
    /// - Throws: `Malformed`, and read or write errors.
    func write(name: String, cuts: [Int64], end: Int64, origin: Int64, _ folder: PackageFolder) throws(MediaError) -> PackagedText
    {
        var text = PackagedText(name: name, language: language)
        try folder.write(text.wholePath, bytes)
        var written = 0
        for (i, start) in cuts.enumerated() {
            let next = i + 1 < cuts.count ? cuts[i + 1] : max(start, end)
            // cues before the first picture belong to the first segment
            let from = i == 0 ? 0 : start / 1000
            let path = "\(name)/\(i + 1).vtt"
            let segment = file.segment(from..<max(from, next / 1000), origin: origin)
            // cues that reach over many cuts are in many segments
            written += segment.count
            guard written <= Self.limit else {
                throw MediaError(.unsupported, "\(self.name): the segments of these subtitles have more than 64 MiB")
            }
            try folder.write(path, segment)
            text.segments.append(PackagedText.Segment(path: path, duration: max(0, next - start)))
        }
        let milliseconds = max(1, end / 1000)
        text.bandwidth = max(1, bytes.count * 8 * 1000 / Int(clamping: milliseconds))
        return text
    }
}

/// Subtitles as they were written.
struct PackagedText {
    struct Segment {
        var path: String
        /// Microseconds.
        var duration: Int64
    }

    let name: String
    let language: String?
    var segments: [Segment] = []
    /// Bits a second.
    var bandwidth = 1

    init(name: String, language: String?) {
        self.name = name
        self.language = language
    }

    /// The path of the file that has all cues.
    var wholePath: String { "\(name)/all.vtt" }
}
