// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

/// The bytes of one segment, produced on demand, with back-pressure: the origin waits for the player.
package protocol SegmentBytes: Sendable {
    /// The next bytes, some 256 KiB, or one sample in the form of the source; nil at the end. One caller at a time.
    func next() async throws -> [UInt8]?
}

/// Bytes in memory.
package actor HeldBytes: SegmentBytes {
    private var bytes: [UInt8]?

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package func next() -> [UInt8]? { bytes.take() }
}
