// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelXML

/// The text of a TTML document (W3C TTML2; IMSC text profile): its paragraphs with their times, without styles, regions and
/// animation.
package struct TTMLText: Sendable {
    /// One paragraph.
    package struct Cue: Sendable, Hashable {
        /// Milliseconds of the media.
        package var start: Int64
        /// The end time in milliseconds; after `start`.
        package var end: Int64
        /// Its lines, with line feeds; as the text of a WebVTT cue, in which `&`, `<` and `>` are escaped.
        package var text: String

        package init(start: Int64, end: Int64, text: String) {
            self.start = start
            self.end = end
            self.text = text
        }
    }

    /// In the order of the document.
    package let cues: [Cue]

    /// Bytes of a document, at most.
    private static let limit = 4 << 20

    /// Reads a document.
    ///
    /// - Parameter bytes: all of it.
    /// - Throws: `Malformed` if it is not well-formed, is not TTML, or contains a malformed time.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var limits = XMLLimits()
        limits.bytes = Self.limit
        limits.elements = 200_000
        var reader = XMLReader(limits: limits)
        let visitor = TTMLVisitor()
        try reader.read(bytes, telling: visitor)
        try reader.finish(telling: visitor)
        guard visitor.isTTML else { throw Malformed("document is not TTML", at: 0) }
        if let fault = visitor.fault { throw Malformed(fault, at: 0) }
        cues = visitor.cues
    }
}

/// Gathers the paragraphs of a document.
private final class TTMLVisitor: XMLVisitor {
    /// An open element: its time is the origin of its children's times.
    private struct Open {
        var begin: Double
        var end: Double
        /// Whether its children follow one another (`timeContainer="seq"`).
        var isSequence: Bool
        /// When the next child of a sequence begins.
        var next: Double
        var isParagraph = false
        /// Whether white space is preserved (`xml:space`).
        var keepsSpace: Bool
        /// Whether its text is of the document's content.
        var isContent: Bool
    }

    private(set) var cues: [TTMLText.Cue] = []
    private(set) var isTTML = false
    private(set) var fault: String?
    private var open: [Open] = []
    private var clock = TTMLClock()
    private var text = ""
    /// The place of the paragraph among the open elements.
    private var paragraph: Int?

    var takesText: Bool { paragraph != nil }

    func start(_ tag: borrowing XMLTag) {
        if open.isEmpty {
            isTTML = tag.isNamed("tt")
            clock = TTMLClock(
                frameRate: tag.value("frameRate"),
                multiplier: tag.value("frameRateMultiplier"),
                tickRate: tag.value("tickRate"),
                subFrameRate: tag.value("subFrameRate")
            )
        }
        let parent = open.last
        let isContent = parent.map { $0.isContent || tag.isNamed("body") } ?? false
        let isTimed = isContent && (tag.isNamed("body") || tag.isNamed("div") || tag.isNamed("p") || tag.isNamed("span"))
        var element = Open(
            begin: parent?.begin ?? 0,
            end: parent?.end ?? .infinity,
            isSequence: isTimed && tag["timeContainer"] == "seq",
            next: 0,
            keepsSpace: tag.value("space").map { $0 == "preserve" } ?? parent?.keepsSpace ?? false,
            isContent: isContent && !tag.isNamed("metadata")
        )
        if isTimed { setTimes(&element, tag["begin"], tag["end"], tag["dur"], isInSequence: parent?.isSequence == true) }
        if paragraph == nil, isContent, tag.isNamed("p") {
            paragraph = open.count
            element.isParagraph = true
            text = ""
        }
        if paragraph != nil, tag.isNamed("br") { text += "\n" }
        open.append(element)
    }

    private func setTimes(_ element: inout Open, _ begin: String?, _ end: String?, _ duration: String?, isInSequence: Bool) {
        func seconds(_ text: String?) -> Double? {
            guard let text else { return nil }
            guard let time = clock.seconds(text) else {
                fault = fault ?? "time of a paragraph is not written as one"
                return nil
            }
            return time
        }
        let parent = element
        let base = isInSequence ? (open.last?.next ?? parent.begin) : parent.begin
        element.begin = base + (seconds(begin) ?? 0)
        element.end = min(parent.end, seconds(end).map { base + $0 } ?? .infinity)
        if let length = seconds(duration) { element.end = min(element.end, element.begin + length) }
        element.next = element.begin
        if isInSequence, !open.isEmpty { open[open.count - 1].next = element.end }
    }

    func take(_ text: String) {
        guard let last = open.last, last.isContent else { return }
        var out = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case " ", "\t", "\n", "\r":
                if last.keepsSpace {
                    out.unicodeScalars.append(character == "\r" ? "\n" : character)
                } else if !(out.isEmpty ? self.text : out).hasSuffix(" ") {
                    out += " "
                }
            default: out.unicodeScalars.append(character)
            }
        }
        self.text += out
    }

    func end() {
        guard let element = open.popLast() else { return }
        guard element.isParagraph else { return }
        paragraph = nil
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            var line = line
            if !element.keepsSpace {
                while line.last == " " { line.removeLast() }
                while line.first == " " { line.removeFirst() }
            }
            return line
        }
        let text = lines.filter { !$0.isEmpty }.joined(separator: "\n")
        let start = TTMLClock.milliseconds(element.begin)
        let end = TTMLClock.milliseconds(element.end)
        guard !text.isEmpty, end > start else { return }
        cues.append(TTMLText.Cue(start: start, end: end, text: text))
    }
}
