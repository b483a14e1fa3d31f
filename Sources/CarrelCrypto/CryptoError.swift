public import CarrelBytes

/// Why a cryptographic operation did not happen. Never holds keys, plain text or anything derived from them.
public struct CryptoError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<CryptoError>

    /// What went wrong; errors with the same code are equal.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String

    package init(_ code: Code, _ message: String = "") {
        self.code = code
        self.message = message
    }

    /// A lower-case sentence for people.
    public var description: String { message }
}

extension ErrorCode where Failure == CryptoError {
    /// The last block does not end in PKCS#7 padding: the wrong key, or altered cipher text.
    public static var padding: Self { Self("crypto.padding") }
    /// The input cannot be as long as it is.
    public static var length: Self { Self("crypto.length") }
    /// A key has a length the algorithm does not have.
    public static var keyLength: Self { Self("crypto.key-length") }
    /// An initialization vector has a length the algorithm does not have.
    public static var ivLength: Self { Self("crypto.iv-length") }
    /// The integrity check failed: the wrong key, or altered bytes.
    public static var integrity: Self { Self("crypto.integrity") }
    /// A public key cannot be read, or is of no accepted kind.
    public static var key: Self { Self("crypto.key") }
    /// A certificate cannot be read.
    public static var certificate: Self { Self("crypto.certificate") }
    /// A certificate does not lead to a trusted one, or not at that time.
    public static var untrusted: Self { Self("crypto.untrusted") }
    /// A signed message cannot be read.
    public static var message: Self { Self("crypto.message") }
    /// OpenSSL refused, for want of memory or of the algorithm.
    public static var refused: Self { Self("crypto.refused") }
}
