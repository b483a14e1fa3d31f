/// A range of bytes of a resource as an MPD writes it: the first and the last byte (ISO/IEC 23009-1 §5.3.9.2).
package struct MPDByteRange: Sendable, Hashable {
    /// The offset of the first byte.
    package var offset: Int64
    /// Bytes.
    package var length: Int64

    package init(offset: Int64, length: Int64) {
        self.offset = offset
        self.length = length
    }
}
