// SPDX-License-Identifier: Apache-2.0

/// The limits of packages.
package enum SavedLimits {
    /// Pieces of all streams.
    package static let pieces = 999_999
    /// Streams.
    package static let streams = 256
    /// Documents.
    package static let documents = 9_999
    /// Bytes of a document with its addresses.
    package static let documentBytes = 17 << 20
    /// Bytes of an address.
    package static let addressBytes = 64 << 10
    /// Bytes of the addresses of all pieces.
    package static let totalAddressBytes = 32 << 20
    /// Bytes of the sealed plan.
    static let planBytes = 80 << 20
    /// The end of a range in a resource.
    package static let rangeEnd: Int64 = 1 << 50
    /// Bytes of `boot.xml` and `root.xml`, and of a segment table.
    static let bootBytes = 4 << 20
    static let tableBytes = 512 << 20
}
