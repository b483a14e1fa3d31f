// SPDX-License-Identifier: Apache-2.0

extension Array where Element == UInt8 {
    /// Appends what `body` writes into fresh room.
    ///
    /// - Parameters:
    ///   - count: room, in bytes; at least 1.
    ///   - body: fills the room from its beginning; returns how many bytes it wrote.
    mutating func append(addingRawCapacity count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int) {
        append(addingCapacity: count) { (span: inout OutputSpan<UInt8>) in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initialized in
                let room = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[initialized...])
                initialized += unsafe body(room)
            }
        }
    }
}
