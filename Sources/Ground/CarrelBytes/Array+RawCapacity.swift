// SPDX-License-Identifier: Apache-2.0

extension Array where Element == UInt8 {
    /// Creates an array of the bytes that `body` appends.
    ///
    /// - Parameters:
    ///   - capacity: the maximum number of bytes.
    ///   - body: appends to the given span.
    /// - Throws: errors of `body`.
    @inlinable
    public init<Failure: Error>(
        rawCapacity capacity: Int,
        _ body: (inout OutputRawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        var failure: Failure?
        self = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
            do throws(Failure) { try body(&out) } catch { failure = error }
            count = unsafe out.finalize(for: raw)
        }
        if let failure { throw failure }
    }
}
