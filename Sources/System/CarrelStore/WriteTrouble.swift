// SPDX-License-Identifier: Apache-2.0

/// Why a database takes no writes, as far as its last write tells.
package struct WriteTrouble: Sendable {
    /// How long a full disk counts after the last write that failed. An idle server learns only by writing that there is room
    /// again, and gets nothing to write while health checks keep clients away.
    package static let life = Duration.seconds(30)

    private var failure: (error: StoreError, at: ContinuousClock.Instant)?

    package init() {}

    /// Notes a failed write, where the failure concerns all writes.
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
