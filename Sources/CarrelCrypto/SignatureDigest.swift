import COpenSSL

/// The digests with which authorities may sign. What is not here was broken, or nobody has looked at it.
enum SignatureDigest {
    /// - Parameter digest: as OpenSSL numbers it; 0 for a signature that names none.
    /// - Returns: whether what is signed with it is to be believed.
    static func holds(_ digest: Int32) -> Bool { [NID_sha256, NID_sha384, NID_sha512].contains(digest) }
}
