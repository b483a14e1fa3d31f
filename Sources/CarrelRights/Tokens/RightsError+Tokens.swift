package import CarrelBytes

extension ErrorCode where Failure == RightsError {
    /// A compound URL has no business token.
    package static var missingToken: Self { Self("rights.url.token") }
    /// A compound URL has no content URL in its fragment, or one that cannot be played.
    package static var missingContent: Self { Self("rights.url.content") }
    /// The rights location of a compound URL is not reached by TLS.
    package static var insecureRights: Self { Self("rights.url.tls") }
}
