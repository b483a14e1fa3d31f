// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelWebAPI

/// A row of the audit log: an entry, or what stands for a page of them.
struct AuditRow: Sendable {
    struct Page: Sendable {
        /// The times of its first entry and of its last.
        let first: Instant
        let last: Instant
        let filter: [UInt8]
        let bytes: [UInt8]

        /// The digest that the chain seals: a SHA-256 of every field, in hexadecimal digits.
        var digest: String {
            var head: [UInt8] = []
            head.append(bigEndian: first.milliseconds)
            head.append(bigEndian: last.milliseconds)
            head.append(bigEndian: UInt32(filter.count))
            var stream = SHA256.Stream()
            stream.update(head.rawSpan)
            stream.update(filter.rawSpan)
            stream.update(bytes.rawSpan)
            return Hex.encode(stream.finish())
        }
    }

    let entry: AuditEntry
    var page: Page?
}
