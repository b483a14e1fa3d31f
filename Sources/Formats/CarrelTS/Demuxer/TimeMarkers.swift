// SPDX-License-Identifier: Apache-2.0

/// The timestamps of PES packets, by the position in the stream from which they hold (ISO/IEC 13818-1 §2.4.3.7).
struct TimeMarkers: Sendable {
    struct Marker: Sendable {
        /// Bytes of the stream before the PES packet's first.
        var position: Int
        var presentationTime: Int64
        var decodeTime: Int64
    }

    private var markers: [Marker] = []

    mutating func append(_ marker: Marker) {
        // a list that grows has no unit that takes from it
        if markers.count >= 4096 { markers.removeFirst(2048) }
        markers.append(marker)
    }

    /// The time of the unit that starts at `position`, when it is the first that starts in a PES packet with a timestamp.
    mutating func take(at position: Int) -> Marker? {
        guard let last = markers.lastIndex(where: { $0.position <= position }) else { return nil }
        let marker = markers[last]
        markers.removeFirst(last + 1)
        return marker
    }
}
