// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// An error of reading a resource of a publication: a stable code, and a message for people.
///
/// Errors are equal if their codes are.
public struct ResourceError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<ResourceError>

    /// The kind of failure.
    public let code: Code
    /// A lower-case sentence without a period; never content of the resource, nor a secret.
    public let message: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a lower-case sentence without a period; no content of the resource and no secret.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ErrorCode where Failure == ResourceError {
    /// There is no such resource.
    public static var notFound: Self { Self("resource.not-found") }
    /// The publication is restricted, or its holder refuses the resource to this reader.
    public static var forbidden: Self { Self("resource.forbidden") }
    /// It cannot be read now: the network, the disk, or a fetcher that was closed meanwhile. Another time it may be.
    public static var unavailable: Self { Self("resource.unavailable") }
    /// Its bytes are not what their format says they must be.
    public static var malformed: Self { Self("resource.malformed") }
    /// The key does not fit, or the encrypted bytes were cut or changed.
    public static var decryption: Self { Self("resource.decryption") }
    /// It requires more memory or disk space than allowed.
    public static var tooLarge: Self { Self("resource.too-large") }
    /// The task that read was cancelled.
    public static var cancelled: Self { Self("resource.cancelled") }
}
