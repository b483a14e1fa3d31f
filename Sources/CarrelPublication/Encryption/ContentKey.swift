public import CarrelCrypto

/// The key under which the resources of a publication are encrypted (AES-256). It never prints.
public final class ContentKey: Sendable {
    let cipher: AESCBCBlocks

    /// - Parameter bytes: 32 of them.
    /// - Throws: `crypto.key-length`.
    public init(_ bytes: Secret) throws(CryptoError) {
        cipher = try AESCBCBlocks(key: bytes)
    }
}
