// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Segments as places in a text.
struct SegmentRecords: Sendable {
    /// One segment as plain integers: 20,000 records need no reference counting.
    struct Record: Sendable {
        var microseconds: Int64
        var offset: UInt64 = 0
        var length: UInt64 = 0
        var uri: TextRange
        /// The text after EXTINF's comma.
        var title: TextRange
        /// The beginning of its lines, which end at the next segment's.
        var lines: UInt32
        /// The place of its date, of ``dateLength`` bytes.
        var date: UInt32
        /// The place of the state that it shares.
        var state: Int32 = 0
        /// The place of its details; negative for none.
        var details: Int32 = -1
        /// Index of the resolved URI; negative if it appears verbatim in the text.
        var address: Int32 = -1
        var dateLength: UInt8
        private var flags: UInt8 = 0

        init(microseconds: Int64, uri: Range<Int>, title: TextRange, lines: Int, date: Range<Int>) {
            self.microseconds = microseconds
            self.uri = TextRange(uri)
            self.title = title
            self.lines = UInt32(clamping: lines)
            self.date = UInt32(clamping: date.lowerBound)
            dateLength = UInt8(clamping: date.count)
        }

        var hasRange: Bool {
            get { flags & 1 != 0 }
            set { flags = newValue ? flags | 1 : flags & ~1 }
        }
        var discontinuity: Bool {
            get { flags & 2 != 0 }
            set { flags = newValue ? flags | 2 : flags & ~2 }
        }
        var isGap: Bool {
            get { flags & 4 != 0 }
            set { flags = newValue ? flags | 4 : flags & ~4 }
        }
    }

    /// The keys, initialization and bit rate of segments: as places in the text, or made.
    struct State: Sendable {
        /// The first of its keys, and their number.
        var keys: Int32 = 0
        var keyCount: Int32 = 0
        /// Negative for none.
        var initialization: Int32 = -1
        /// Negative for none.
        var bitrate: Int32 = -1
        /// The state, if several segments share it or its keys must be read early.
        var segmentState: SegmentState?
    }

    let text: ParsedPlaylistText
    var list: [Record] = []
    /// The end of the last one's lines.
    var end = 0
    var states: [State]
    /// The attributes of the keys of states.
    var keys: [TextRange] = []
    var initializations: [MediaSegment.Initialization] = []
    var bitrates: [UInt64] = []
    var details: [SegmentDetails] = []
    var addresses: [String] = []

    init(_ text: ParsedPlaylistText) {
        self.text = text
        states = [State(segmentState: SegmentState(keys: [], nil, nil, text))]
    }

    /// The address of a segment.
    func uri(_ record: Record) -> String {
        if record.address >= 0 { return addresses[Int(record.address)] }
        return string(record.uri.range)
    }

    /// Whether two segments have one address.
    func isSameAddress(_ a: Record, _ b: Record) -> Bool {
        guard a.address < 0, b.address < 0 else { return uri(a) == uri(b) }
        let stored = text.bytes
        return stored.rawSpan.isEqual(a.uri.range, b.uri.range)
    }

    private func string(_ range: Range<Int>) -> String { String(decoding: text.bytes[range], as: UTF8.self) }

    /// A state with its keys.
    func make(_ state: State) -> SegmentState {
        if let segmentState = state.segmentState { return segmentState }
        let stored = text.bytes
        let bytes = stored.rawSpan
        var segmentKeys: [EncryptionKey] = []
        segmentKeys.reserveCapacity(Int(state.keyCount))
        for index in Int(state.keys)..<Int(state.keys) + Int(state.keyCount) {
            if let key = KeyTag.key(bytes, keys[index].range) { segmentKeys.append(key) }
        }
        return SegmentState(
            keys: segmentKeys,
            state.initialization >= 0 ? initializations[Int(state.initialization)] : nil,
            state.bitrate >= 0 ? bitrates[Int(state.bitrate)] : nil,
            text
        )
    }

    private func details(_ record: Record) -> SegmentDetails? {
        let recordDetails = record.details >= 0 ? details[Int(record.details)] : nil
        guard !record.title.isEmpty || record.dateLength > 0 else { return recordDetails }
        var values = recordDetails?.values ?? SegmentDetails.Values()
        values.title = string(record.title.range)
        if record.dateLength > 0 {
            values.programDateTime = string(Int(record.date)..<Int(record.date) + Int(record.dateLength))
        }
        return SegmentDetails(values)
    }

    subscript(index: Int) -> MediaSegment {
        let record = list[index]
        return MediaSegment(
            uri: uri(record),
            microseconds: record.microseconds,
            byteRange: record.hasRange ? MediaSegment.ByteRange(offset: record.offset, length: record.length) : nil,
            discontinuity: record.discontinuity,
            isGap: record.isGap,
            shared: make(states[Int(record.state)]),
            details: details(record),
            lines: Int(record.lines)..<(index + 1 < list.count ? Int(list[index + 1].lines) : end)
        )
    }
}
