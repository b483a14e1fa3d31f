// SPDX-License-Identifier: Apache-2.0

/// The plaintext of an encrypted resource: decrypted with AES-256 in CBC mode, and inflated if it was deflated before encryption
/// (Readium LCP §3). Any range can be decrypted from the block before it; the resource is never decrypted as a whole.
///
/// Bytes that do not decrypt, or were never encrypted, fail with `resource.decryption`.
public final class AESCBCResource: Resource {
    public var link: Link { content.link }
    public let lengthHint: LengthHint?

    private let content: any Resource

    /// Creates a resource that decrypts another.
    ///
    /// - Parameters:
    ///   - resource: the initialization vector and the ciphertext; closed with this resource.
    ///   - key: the publication's key.
    ///   - isDeflated: whether it was deflated (RFC 1951) before encryption.
    ///   - originalLength: the declared original length in bytes. It may be wrong, and is not used for computation.
    public init(_ resource: any Resource, key: ContentKey, isDeflated: Bool, originalLength: LengthHint?) {
        let decrypted = CipherText(resource, key: key)
        content = isDeflated ? InflatingResource(decrypted, fault: .decryption) : decrypted
        lengthHint = originalLength
    }

    /// The exact length in bytes: from the last block, or for deflated resources by inflating the whole resource once.
    ///
    /// - Throws: ``ResourceError`` if the encrypted resource cannot be read or decrypted.
    public func length() async throws(ResourceError) -> Int64 { try await content.length() }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        try await content.read(range, into: &buffer)
    }

    public func close() { content.close() }
}
