// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A SHA-256 digest in a row of a table, without an allocation.
struct TableDigest: Sendable, Hashable {
    private let parts: (UInt64, UInt64, UInt64, UInt64)

    init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let span = bytes.rawSpan
        parts = (span.u64(at: 0), span.u64(at: 8), span.u64(at: 16), span.u64(at: 24))
    }

    /// Reads 64 hexadecimal digits.
    init?(hex: String) {
        guard hex.utf8.count == 64, let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes)
    }

    var bytes: [UInt8] {
        [parts.0, parts.1, parts.2, parts.3].flatMap { part in
            (0..<8).map { UInt8(truncatingIfNeeded: part >> (56 - 8 * $0)) }
        }
    }

    static func == (a: TableDigest, b: TableDigest) -> Bool { a.parts == b.parts }

    func hash(into hasher: inout Hasher) { hasher.combine(parts.0) }
}
