// SPDX-License-Identifier: Apache-2.0

import CarrelPublication

/// Compressed bytes of an archive entry as a gzip member (RFC 1952 §2.3): the same deflate stream with another header and
/// trailer.
struct GzipMember: Sendable {
    private let deflated: DeflatedContent

    init(_ deflated: DeflatedContent) {
        self.deflated = deflated
    }

    /// Deflate, no flags, no time, made by an unknown system.
    private static let head: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]

    /// The checksum and the length, least significant byte first.
    private var tail: [UInt8] {
        let length = UInt32(truncatingIfNeeded: deflated.length)
        return [deflated.checksum, length].flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
    }

    func length() async throws(ResourceError) -> Int64 {
        try await deflated.packed.length() + Int64(Self.head.count + tail.count)
    }

    /// Hands over all of it, a piece at a time.
    func write(pieceSize: Int, _ take: ([UInt8]) async throws -> Void) async throws {
        try await take(Self.head)
        try await deflated.packed.stream(pieceSize: pieceSize) { piece in try await take(copy piece) }
        try await take(tail)
    }
}
