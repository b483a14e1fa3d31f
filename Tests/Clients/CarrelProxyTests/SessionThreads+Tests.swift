// SPDX-License-Identifier: Apache-2.0

@testable import CarrelMediaSource
@testable import CarrelProxy
import CarrelThreads

extension SessionThreads {
    /// The threads of a session that shares none.
    static var forTests: SessionThreads { SessionThreads(SharedThreads(limit: 0, starter: .system)) }
}
