// SPDX-License-Identifier: Apache-2.0

/// A resource that lies packed in its archive and can be handed on like that, without being unpacked and packed again.
public protocol PackedResource: Resource {
    /// Its packed form.
    ///
    /// - Returns: nil if it is stored plainly, encrypted, or packed in another way.
    /// - Throws: ``ResourceError``.
    func deflated() async throws(ResourceError) -> DeflatedContent?
}

/// A resource in its packed form.
public struct DeflatedContent: Sendable {
    /// Raw deflate (RFC 1951).
    public let packed: any Resource
    /// CRC-32 of the plain bytes (RFC 1952 §8), as the archive declares it.
    public let checksum: UInt32
    /// Plain bytes, as the archive declares them.
    public let length: Int64
}
