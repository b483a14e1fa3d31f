// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

extension Publication {
    /// The domain of ``Publication/OpeningError``.
    public enum OpeningErrorDomain: ErrorDomain {}

    /// Why a publication cannot be opened: a stable code, and words for a person.
    public typealias OpeningError = CodedFailure<OpeningErrorDomain>
}

extension Publication.OpeningError {
    /// A resource without which there is no publication could not be read.
    public init(_ error: ResourceError) {
        switch error.code {
        case .notFound: self.init(.notFound, error.message)
        case .forbidden: self.init(.forbidden, error.message)
        case .unavailable: self.init(.unavailable, error.message)
        case .cancelled: self.init(.cancelled, error.message)
        default: self.init(.parsingFailed, error.message)
        }
    }
}

extension ErrorCode where Failure == Publication.OpeningError {
    /// No parser takes this kind of file.
    public static var unsupportedFormat: Self { Self("opening.unsupported-format") }
    /// The file or address does not exist.
    public static var notFound: Self { Self("opening.not-found") }
    /// The file does not match its format.
    public static var parsingFailed: Self { Self("opening.parsing-failed") }
    /// The holder of the publication does not let this reader open it.
    public static var forbidden: Self { Self("opening.forbidden") }
    /// It cannot be opened now: the network or the disk. Another time it may be.
    public static var unavailable: Self { Self("opening.unavailable") }
    /// A password or passphrase is needed, and none was given.
    public static var credentialsRequired: Self { Self("opening.credentials-required") }
    /// The password or passphrase that was given is wrong.
    public static var incorrectCredentials: Self { Self("opening.incorrect-credentials") }
    /// The user canceled the prompt for credentials.
    public static var cancelled: Self { Self("opening.cancelled") }
}
