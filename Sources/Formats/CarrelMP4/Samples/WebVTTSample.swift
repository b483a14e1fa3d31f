// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The cues of one sample of WebVTT (`wvtt`, ISO/IEC 14496-30 §7.3): those that are shown from its time on, until it ends.
package struct WebVTTSample: Sendable, Hashable {
    /// A cue, which consecutive samples may repeat.
    package struct Cue: Sendable, Hashable {
        /// The number by which a cue is the same in several samples (`vsid`).
        package var sourceID: UInt32?
        /// Its identifier (`iden`); empty if it has none.
        package var identifier = ""
        /// Its settings, as after the times in a file (`sttg`); empty if it has none.
        package var settings = ""
        /// Its text (`payl`), with line feeds.
        package var text = ""
    }

    /// The cues in sample order; empty if nothing is shown.
    package private(set) var cues: [Cue] = []

    /// Cues of a sample, at most.
    private static let limit = 1024

    /// Reads a sample.
    ///
    /// - Parameter bytes: the whole of it; boxes other than cues are passed over.
    /// - Throws: `Malformed` if a box leaves the sample, a text is not UTF-8, or there are too many cues.
    package init(_ bytes: RawSpan) throws(Malformed) {
        var at = 0
        while at < bytes.byteCount {
            let (type, content) = try Self.box(bytes, at, end: bytes.byteCount)
            if type == "vttc" {
                guard cues.count < Self.limit else { throw Malformed("sample has more than \(Self.limit) cues", at: at) }
                cues.append(try Self.cue(bytes, content))
            }
            at = content.upperBound
        }
    }

    private static func cue(_ bytes: RawSpan, _ range: Range<Int>) throws(Malformed) -> Cue {
        var cue = Cue()
        var at = range.lowerBound
        while at < range.upperBound {
            let (type, content) = try box(bytes, at, end: range.upperBound)
            switch type {
            case "vsid":
                guard content.count >= 4 else { throw Malformed("id of a cue is cut off", at: at) }
                cue.sourceID = bytes.u32(at: content.lowerBound)
            case "iden": cue.identifier = try text(bytes, content)
            case "sttg": cue.settings = try text(bytes, content)
            case "payl": cue.text = try text(bytes, content)
            default: break
            }
            at = content.upperBound
        }
        return cue
    }

    private static func box(_ bytes: RawSpan, _ at: Int, end: Int) throws(Malformed) -> (FourCC, Range<Int>) {
        guard end - at >= 8 else { throw Malformed("box of a cue is cut off", at: at) }
        let size = Int(bytes.u32(at: at))
        guard size >= 8, size <= end - at else { throw Malformed("box of a cue leaves its sample", at: at) }
        return (FourCC(bytes.u32(at: at + 4)), at + 8..<at + size)
    }

    private static func text(_ bytes: RawSpan, _ range: Range<Int>) throws(Malformed) -> String {
        guard let text = String(validating: [UInt8](copying: bytes.extracting(range)), as: UTF8.self) else {
            throw Malformed("text of a cue is not UTF-8", at: range.lowerBound)
        }
        return text
    }
}
