// SPDX-License-Identifier: Apache-2.0

package import CarrelMediaSource
import CarrelThreads

/// Opens segments at an origin that fails for a moment: nothing was sent to the player yet, so that it does not notice.
package struct SegmentOpening: Sendable {
    let origin: MediaOrigin
    /// How long a live segment that the origin does not have yet is retried; nil for not at all.
    var deadline: ContinuousClock.Instant?

    /// Before the second and the third request.
    private static let pauses: [Duration] = [.milliseconds(200), .milliseconds(800)]
    /// Before requests to an origin that has too many of them: at first, added each time, and at most.
    private static let busyPause: Duration = .milliseconds(50)
    private static let longestBusyPause: Duration = .milliseconds(400)
    /// Time limit for retries; an origin that rate-limits only a few requests gets three times as long.
    var patience = Duration.seconds(6)
    private static let busyLimit = 12
    /// Between requests for a segment that is not there yet: at first, and at most.
    private static let firstWait = Duration.milliseconds(50)
    private static let longestWait = Duration.milliseconds(800)

    /// - Parameters:
    ///   - origin: the origin of the segments.
    ///   - deadline: how long a live segment that the origin does not have yet is retried; nil for not at all.
    package init(origin: MediaOrigin, deadline: ContinuousClock.Instant? = nil) {
        self.origin = origin
        self.deadline = deadline
    }

    /// Opens a segment, and waits for its first bytes.
    ///
    /// - Parameters:
    ///   - url: the resolved address.
    ///   - range: the requested range; nil for all.
    /// - Returns: the bytes.
    /// - Throws: ``ProxyError``; `CancellationError`.
    package func open(_ url: String, range: Range<Int64>? = nil) async throws -> FirstBytes {
        try await retrying { () async throws(ProxyError) in
            try await FirstBytes(try await origin.open(url, range: range))
        }
    }

    /// Reads a small resource whole.
    ///
    /// - Parameters:
    ///   - url: the resolved address.
    ///   - range: the requested range; nil for all.
    ///   - limit: maximum size in bytes.
    /// - Returns: the bytes, and the address after redirects.
    /// - Throws: ``ProxyError``; `CancellationError`.
    package func resource(_ url: String, range: Range<Int64>? = nil, limit: Int) async throws -> (bytes: [UInt8], url: String) {
        try await retrying { () async throws(ProxyError) in try await origin.load(url, range: range, limit: limit) }
    }

    private func retrying<Result>(_ request: () async throws(ProxyError) -> Result) async throws -> Result {
        let clock = origin.clock
        let began = clock.now
        var pauses = Self.pauses[...]
        var busyPause = Self.busyPause
        var refusals = 0
        var wait = Self.firstWait
        while true {
            do throws(ProxyError) {
                return try await request()
            } catch {
                try Task.checkCancellation()
                switch error.code {
                case .missing:
                    guard let deadline, clock.now + wait < deadline else { throw error }
                    try await clock.sleep(for: wait)
                    wait = min(wait * 2, Self.longestWait)
                case _ where error.isTransient && error.pause != nil:
                    // requests that were refused together do not come together again
                    let pause = max(error.pause ?? .zero, busyPause * Double.random(in: 0.75...1.25))
                    refusals += 1
                    let limit = refusals < Self.busyLimit ? patience * 3 : patience
                    guard clock.now + pause < began + limit else { throw error }
                    busyPause = min(busyPause + Self.busyPause, Self.longestBusyPause)
                    try await clock.sleep(for: pause)
                case _ where error.isTransient && began + patience > clock.now:
                    guard let pause = pauses.popFirst() else { throw error }
                    try await clock.sleep(for: pause)
                default: throw error
                }
            }
        }
    }
}
