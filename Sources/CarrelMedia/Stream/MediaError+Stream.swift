package import CarrelBytes

extension ErrorCode where Failure == MediaError {
    /// The stream was closed.
    package static var closed: Self { Self("media.closed") }
    /// The key may not be used any more.
    package static var expiredKey: Self { Self("media.expired-key") }
}
