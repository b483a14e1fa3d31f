// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTS

/// The ID3 tags in the event messages of fragments, to be written to a transport stream (Carriage of ID3 Timed Metadata in CMAF;
/// Timed Metadata for HTTP Live Streaming).
///
/// A message comes before the fragments of its segment, and its time may be long after them: tags wait until the stream reaches
/// their time. A repeated message is the same event, and is written once.
struct TimedTags: Sendable {
    struct Tag: Sendable {
        /// When it takes effect, in 90 kHz ticks.
        var time: Int64
        var bytes: [UInt8]
    }

    /// The identity of an event: messages that have the same are one (ISO/IEC 23009-1 §5.10.3.3.3).
    private struct Identity: Hashable {
        var scheme: String
        var value: String
        var id: UInt32
    }

    /// Tags that were left out, each as a lower-case phrase.
    private(set) var faults: [String] = []
    /// Messages whose times are not converted to ticks yet.
    private var unsettled: [EventMessage] = []
    /// The waiting tags in descending order of time.
    private var waiting: [Tag] = []
    private var waitingBytes = 0
    /// The last events, the oldest first.
    private var recentIdentities: [Identity] = []

    /// Bytes of a tag, at most: a PES packet holds no more.
    private static let tagLimit = 65_000
    /// Tags that wait, at most, and their bytes; then the first are written before their time.
    private static let countLimit = 1024
    private static let byteLimit = 1 << 20
    /// Events that are known again.
    private static let recentLimit = 256

    /// Whether nothing waits.
    var isEmpty: Bool { unsettled.isEmpty && waiting.isEmpty }

    /// Adds an event message; one without an ID3 tag is passed over.
    ///
    /// - Parameter box: the whole `emsg` box.
    /// - Throws: `Malformed` if it is damaged.
    mutating func add(_ box: RawSpan) throws(Malformed) {
        let header = box.byteCount >= 16 && box.u32(at: 0) == 1 ? 16 : 8
        guard box.byteCount > header else { throw Malformed("event message is empty", at: 0) }
        let message = try EventMessage(box.extracting(header..<box.byteCount))
        guard Self.hasTag(message) else { return }
        guard message.data.count <= Self.tagLimit else {
            let fault = "an ID3 tag of \(message.data.count) bytes: longer than a PES packet"
            if !faults.contains(fault), faults.count < 16 { faults.append(fault) }
            return
        }
        let identity = Identity(scheme: message.scheme, value: message.value, id: message.id)
        guard !recentIdentities.contains(identity) else { return }
        recentIdentities.append(identity)
        if recentIdentities.count > Self.recentLimit { recentIdentities.removeFirst() }
        unsettled.append(message)
        waitingBytes += message.data.count
        // relative times are settled with the next sample: more of them than can wait have no fragment
        guard unsettled.count <= Self.countLimit, waitingBytes <= 2 * Self.byteLimit else {
            throw Malformed("more than \(Self.countLimit) event messages come without a sample", at: 0)
        }
    }

    /// Whether a message carries an ID3 tag: by its scheme or, with a scheme of DASH events, by the beginning of its data.
    private static func hasTag(_ message: EventMessage) -> Bool {
        guard message.data.count >= 10, message.data.starts(with: Array("ID3".utf8)), message.timescale > 0 else { return false }
        let scheme = message.scheme.lowercased()
        return TimedID3.schemes.contains(scheme) || scheme.hasPrefix("urn:mpeg:dash:event")
    }

    /// Converts the times of the messages to ticks.
    ///
    /// - Parameters:
    ///   - segment: the presentation time of the segment's first sample, to which relative times refer.
    ///   - origin: the beginning of the presentation.
    mutating func settle(segment: Int64, origin: Int64) {
        for message in unsettled {
            let time = MediaTime.ticks(Int64(clamping: message.time), timescale: Int64(message.timescale))
            let tag = Tag(time: (message.isRelative ? segment : origin) &+ time, bytes: message.data)
            let index = waiting.firstIndex { $0.time <= tag.time } ?? waiting.count
            waiting.insert(tag, at: index)
        }
        unsettled = []
    }

    /// The next tag that takes effect up to a time; nil if there is none.
    mutating func next(upTo time: Int64) -> Tag? {
        guard let last = waiting.last else { return nil }
        let isFull = waiting.count > Self.countLimit || waitingBytes > Self.byteLimit
        guard last.time <= time || isFull else { return nil }
        waitingBytes -= last.bytes.count
        return waiting.popLast()
    }
}
