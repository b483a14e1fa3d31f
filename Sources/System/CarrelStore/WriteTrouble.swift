// SPDX-License-Identifier: Apache-2.0

/// The reason why a database refuses writes, according to its last write.
package struct WriteTrouble: Sendable {
    /// The time for which a full disk counts after the last failed write. An idle server only learns by writing that there is
    /// space again, and gets no writes while health checks keep clients away.
    package static let life = Duration.seconds(30)

    private var failure: (error: StoreError, at: ContinuousClock.Instant)?

    package init() {}

    /// Records a failed write if the failure affects all writes.
    package mutating func note(_ error: StoreError, at now: ContinuousClock.Instant = .now) {
        if error.code == .full || error.code == .readOnly { failure = (error, now) }
    }

    /// Ends the trouble: a write changed a row.
    package mutating func end() { failure = nil }

    /// Ends the trouble with a database that took no writes: the engine says that it does.
    package mutating func endReadOnly() {
        if failure?.error.code == .readOnly { failure = nil }
    }

    /// The trouble at a time; nil if there is none, or a full disk was met too long ago.
    package func current(at now: ContinuousClock.Instant = .now) -> StoreError? {
        guard let failure else { return nil }
        return failure.error.code == .full && now - failure.at >= Self.life ? nil : failure.error
    }
}
