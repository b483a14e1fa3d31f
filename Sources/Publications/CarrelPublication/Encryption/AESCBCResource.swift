// SPDX-License-Identifier: Apache-2.0

/// An encrypted resource as a reader sees it: decrypted with AES-256 in CBC mode, and unpacked where it was deflated before it was
/// encrypted (Readium LCP §3). Any range is decrypted from the block before it; nothing is decrypted whole.
///
/// Bytes that do not decrypt, or were never encrypted, fail with `resource.decryption`.
public final class AESCBCResource: Resource {
    public var link: Link { content.link }
    public let lengthHint: LengthHint?

    private let content: any Resource

    /// Creates a resource that decrypts another.
    ///
    /// - Parameters:
    ///   - resource: the initialization vector and the cipher text; closed with this one.
    ///   - key: of the publication.
    ///   - isDeflated: whether it was deflated (RFC 1951) before it was encrypted.
    ///   - originalLength: the declared length in bytes before that. It may be wrong, and nothing is computed with it.
    public init(_ resource: any Resource, key: ContentKey, isDeflated: Bool, originalLength: LengthHint?) {
        let decrypted = CipherText(resource, key: key)
        content = isDeflated ? InflatingResource(decrypted, fault: .decryption) : decrypted
        lengthHint = originalLength
    }

    /// Bytes, exactly: by the last block, or of what was deflated by unpacking all of it once.
    ///
    /// - Throws: ``ResourceError`` if the encrypted resource cannot be read or decrypted.
    public func length() async throws(ResourceError) -> Int64 { try await content.length() }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try await content.read(range, into: &buffer)
    }

    public func close() { content.close() }
}
