// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

extension ErrorCode where Failure == MediaError {
    /// The stream was closed.
    public static var closed: Self { Self("media.closed") }
    /// Encrypted bytes were changed, moved or cut off, or lack the tags that their license requires.
    public static var altered: Self { Self("media.altered") }
    /// The key may not be used any more.
    public static var expiredKey: Self { Self("media.expired-key") }
}
