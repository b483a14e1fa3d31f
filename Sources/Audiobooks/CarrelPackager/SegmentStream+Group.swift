// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelMultiBuffer

// Segments that are wanted at the same moment: drafted one after another, encrypted side by side.
extension SegmentStream {
    /// Appends the whole segment before encryption, with its padding: ``length`` bytes, for which `out` must have room. After
    /// that, the stream can only ``encrypt(_:)`` the draft.
    ///
    /// Throws what the input throws; `mediaTruncated` or `mediaDamaged` if the media does not match the index.
    package func draft(into out: inout OutputRawSpan) throws {
        precondition(out.freeCapacity >= length, "the segment has no room")
        try unsafe out.withUnsafeMutableBytes { buffer, count in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + length])
            try unsafe makeWhole(in: room)
            count += length
        }
    }

    /// A stream's draft, and its place.
    @safe
    package struct Draft {
        let stream: SegmentStream
        let bytes: UnsafeMutableRawBufferPointer

        /// The bytes must not move until ``SegmentStream/encrypt(_:)`` returns.
        package init(of stream: SegmentStream, in bytes: UnsafeMutableRawBufferPointer) {
            self.stream = stream
            unsafe self.bytes = bytes
        }
    }

    /// Encrypts drafts in place; each must be the ``length`` bytes that its stream drafted. Throws `refused` if the cipher fails;
    /// then no draft may be used.
    package static func encrypt(_ drafts: some Sequence<Draft>) throws(CryptoError) {
        var messages: [AESCBCGroup.Message] = []
        for draft in drafts {
            guard let key = draft.stream.key else { continue }
            unsafe messages.append(try AESCBCGroup.Message(key: key, iv: draft.stream.vector, bytes: draft.bytes))
        }
        try AESCBCGroup.encrypt(messages)
    }
}
