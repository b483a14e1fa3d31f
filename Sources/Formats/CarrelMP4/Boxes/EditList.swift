// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Which part of a track's media is presented (`elst`, ISO/IEC 14496-12 §8.6.6).
package struct EditList: Sendable {
    /// One stretch.
    package struct Edit: Sendable, Hashable {
        /// In the movie's time scale.
        package var duration: Int64
        /// In the track's time scale; -1 for silence.
        package var mediaTime: Int64
        /// How fast the media play, in 65,536ths; 0 shows one moment of them all the time.
        package var rate: UInt32 = 0x1_0000
    }

    /// The stretches, in the order of presentation.
    package var edits: [Edit] = []
    /// Whether the file has more stretches than are kept.
    package private(set) var isCut = false

    private static let limit = 1000

    init() {}

    /// Reads the content of an `elst` box.
    init(_ content: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(content)
        let version = try cursor.u8("edit list")
        try cursor.skip(3, "edit list")
        let count = Int(try cursor.u32("edit list"))
        isCut = count > Self.limit
        for _ in 0..<min(count, Self.limit) {
            var edit =
                version == 1
                ? Edit(
                    duration: Int64(truncatingIfNeeded: try cursor.u64("edit")),
                    mediaTime: Int64(truncatingIfNeeded: try cursor.u64("edit"))
                )
                : Edit(
                    duration: Int64(try cursor.u32("edit")),
                    mediaTime: Int64(Int32(truncatingIfNeeded: try cursor.u32("edit")))
                )
            edit.rate = try cursor.u32("edit")
            edits.append(edit)
        }
    }

    /// The one stretch of media presented, or nil if there are several or none.
    var single: Edit? {
        let media = edits.filter { $0.mediaTime >= 0 }
        return media.count == 1 ? media[0] : nil
    }
}
