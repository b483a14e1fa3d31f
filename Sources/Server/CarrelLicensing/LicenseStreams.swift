// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelOrders
import CarrelStore

/// The streams of licenses, for the common limit of a subject's streams and listeners.
struct LicenseStreams: StreamLedger {
    let database: any Database
    /// Whether the streams of an order are counted for the order.
    let countsOrders: Bool

    /// The maximum number of streams read for one subject.
    private static let limit = 2000

    func streams(of subject: String, at now: Instant) async throws -> [CountedStream] {
        try await database.read {
            try LicenseStore.streams(of: subject, countsOrders: countsOrders, at: now, limit: Self.limit, in: $0)
        }
    }

    func end(_ streams: [String], of subject: String, at now: Instant) async throws {
        try await database.write { transaction in
            for stream in streams { try Self.evict(stream, at: now, in: transaction) }
        }
    }

    /// Ends a stream that lost its slot to a newer stream.
    static func evict(_ license: String, at now: Instant, in transaction: any Transaction) throws {
        guard try LicenseStore.end(license, by: "evicted", at: now, in: transaction) else { return }
        try AuditStore.append(
            AuditActor(AuditActor.server).entry("license.evict", on: license, at: now, reason: "concurrency"),
            in: transaction
        )
    }
}
