// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelRights

/// The license of a stream, which is in no store.
struct HeldStream: Sendable {
    var record: LicenseRecord
    let priority: Int
    /// Tells this stream from an earlier one with the same license.
    let generation: Int
    /// Sessions that it was opened for and that have not ended.
    var uses = 0
    /// The used amounts of counted rights, for as long as the stream lasts.
    var rights = UsedRights()

    init(_ license: License, priority: Int, generation: Int) {
        record = LicenseRecord(license)
        self.priority = priority
        self.generation = generation
    }

    /// Updates the stream from a newer license with the same ID, and keeps its local state.
    mutating func take(_ license: License) {
        let known = record
        record = LicenseRecord(license)
        (record.firstPlay, record.plays) = (known.firstPlay, known.plays)
        record.leaseRenewedAt = license.signedAt
    }
}
