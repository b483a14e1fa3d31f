// SPDX-License-Identifier: Apache-2.0

package import CarrelHTTP
package import CarrelMediaSource

/// A segment as its address names it, in query fields: period, tracks, places and times.
///
/// The proxy uses them to find the segment in the current state of the source. An address that was never in a playlist names no
/// segment, or another segment of the same source, and nothing else.
package struct SegmentName: Sendable, Hashable {
    /// When the period begins, in milliseconds of the presentation; 0 for sources without periods.
    package var period: Int64 = 0
    /// The tracks.
    package var rendition = RenditionName()
    /// The index of the video segment in its period (of the text segment if there is no video).
    package var index: Int64 = 0
    /// When it begins, in units of its stream.
    package var time: Int64 = 0
    /// The place of the segment of audio that is sent with it.
    package var audioIndex: Int64 = 0
    /// When that begins.
    package var audioTime: Int64 = 0

    /// Query fields, always in this order.
    package var query: String {
        var text = ""
        append(to: &text)
        return text
    }

    /// Query fields of the file that contains it.
    package var fileQuery: String {
        var text = "period=\(period)"
        rendition.append(to: &text)
        return text
    }

    /// Appends the query fields.
    package func append(to text: inout String) {
        text += "period="
        text += String(period)
        rendition.append(to: &text)
        appendPlaces(to: &text)
    }

    /// Query fields for a source whose segments are found by index, or by index and time.
    package func query(hasTime: Bool) -> String {
        var text = fileQuery
        appendPlaces(to: &text, hasTime: hasTime)
        return text
    }

    /// Whether the query fields before the indexes are the same: a long playlist formats them once.
    package func isBeside(_ other: SegmentName) -> Bool { period == other.period && rendition == other.rendition }

    /// Appends the fields that differ from segment to segment.
    ///
    /// - Parameters:
    ///   - text: gets the fields.
    ///   - hasTime: whether the source finds segments by their times; a time of zero is left out of the others.
    package func appendPlaces(to text: inout String, hasTime: Bool = true) {
        text += "&n="
        text += String(index)
        if hasTime || time != 0 {
            text += "&t="
            text += String(time)
        }
        guard rendition.video != nil, rendition.audio != nil, hasTime || audioIndex != 0 || audioTime != 0 else { return }
        text += "&an="
        text += String(audioIndex)
        text += "&at="
        text += String(audioTime)
    }

    package init(period: Int64 = 0, _ rendition: RenditionName, index: Int64 = 0, time: Int64 = 0) {
        self.period = period
        self.rendition = rendition
        self.index = index
        self.time = time
    }

    /// Reads query fields.
    ///
    /// - Parameter query: of a request.
    /// - Throws: `proxy.missing` if a field is not a number, is out of range, or comes twice.
    package init(_ query: Query) throws(ProxyError) {
        var seen: Set<String> = []
        for pair in query.pairs {
            guard seen.insert(pair.name).inserted, let value = Int64(pair.value), value.magnitude < 1 << 62 else {
                throw Self.unknown
            }
            switch pair.name {
            case "period": period = value
            case "video": rendition.video = try Self.place(value)
            case "audio": rendition.audio = try Self.place(value)
            case "text": rendition.text = try Self.place(value)
            case "pictures": rendition.isPictures = value == 1
            case "n": index = value
            case "t": time = value
            case "an": audioIndex = value
            case "at": audioTime = value
            default: throw Self.unknown
            }
        }
        guard index >= 0, audioIndex >= 0 else { throw Self.unknown }
        // no playlist combines text with other tracks, or audio with I-frames
        let isAlone = rendition.text == nil || rendition.video == nil && rendition.audio == nil && !rendition.isPictures
        guard isAlone, !rendition.isPictures || rendition.audio == nil else { throw Self.unknown }
    }

    package static let unknown = ProxyError(.missing, "no playlist of this session has such a segment")

    private static func place(_ value: Int64) throws(ProxyError) -> Int {
        guard 0...10_000 ~= value else { throw unknown }
        return Int(value)
    }
}
