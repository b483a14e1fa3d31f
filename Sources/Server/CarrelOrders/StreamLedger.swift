// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// A stream that takes a place of a subject in addition to its listeners.
package struct CountedStream: Sendable, Equatable {
    package let id: String
    package let since: Instant
    /// The end of its lease, if it is not renewed.
    package let until: Instant

    package init(id: String, since: Instant, until: Instant) {
        self.id = id
        self.since = since
        self.until = until
    }
}

/// The streams in addition to the listeners, which a higher capability counts.
package protocol StreamLedger: Sendable {
    /// The streams of a subject whose leases last, the oldest first.
    func streams(of subject: String, at now: Instant) async throws -> [CountedStream]

    /// Ends streams that lost their place.
    func end(_ streams: [String], of subject: String, at now: Instant) async throws
}
