package import CarrelBytes

extension ErrorCode where Failure == MediaError {
    /// Renditions cannot be cut at the same moments.
    package static var unaligned: Self { Self("media.unaligned") }
}
