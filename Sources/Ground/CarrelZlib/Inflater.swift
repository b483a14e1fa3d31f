// SPDX-License-Identifier: Apache-2.0

import CZlib
package import CarrelBytes

/// Decompresses one stream of raw deflate (RFC 1951), piece by piece. Takes about 48 KiB.
@safe
package final class Inflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// At the beginning of a stream.
    package convenience init() {
        unsafe self.init { unsafe czlib_inflate_start($0) }
    }

    private init(_ start: (UnsafeMutablePointer<z_stream>) -> Int32) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe start(stream)
        precondition(status == Z_OK, "zlib has no memory for a window")
        unsafe self.stream = stream
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// An independent copy that continues from the same position.
    package func copy() -> Inflater {
        unsafe Inflater { unsafe inflateCopy($0, stream) }
    }

    /// Decompresses the next bytes.
    ///
    /// - Parameters:
    ///   - input: compressed bytes that follow the consumed ones.
    ///   - out: receives decompressed bytes.
    ///   - limit: the maximum number of bytes to append; at least 1.
    /// - Returns: the number of consumed bytes of the input, and whether the stream is at its end.
    /// - Throws: ``Malformed`` unless the bytes are a deflate stream.
    package func inflate(
        _ input: RawSpan,
        into out: inout [UInt8],
        atMost limit: Int
    ) throws(Malformed) -> (consumed: Int, isAtEnd: Bool) {
        var status = Z_OK
        var consumed = 0
        out.append(addingCapacity: limit) { (room: inout OutputSpan<UInt8>) in
            unsafe room.withUnsafeMutableBufferPointer { room, filled in
                unsafe input.withUnsafeBytes { input in
                    // zlib does not write into its input
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
                    unsafe stream.pointee.avail_in = UInt32(clamping: input.count)
                    unsafe stream.pointee.next_out = room.baseAddress.map { unsafe $0 + filled }
                    unsafe stream.pointee.avail_out = UInt32(clamping: limit)
                    status = unsafe CZlib.inflate(stream, Z_NO_FLUSH)
                    consumed = Int(clamping: UInt32(clamping: input.count) - (unsafe stream.pointee.avail_in))
                    filled += Int(UInt32(clamping: limit) - (unsafe stream.pointee.avail_out))
                    unsafe stream.pointee.next_in = nil
                    unsafe stream.pointee.next_out = nil
                }
            }
        }
        switch status {
        case Z_OK, Z_BUF_ERROR: return (consumed, false)
        case Z_STREAM_END: return (consumed, true)
        default: throw Malformed("packed bytes are not a deflate stream", at: consumed)
        }
    }
}
