// SPDX-License-Identifier: Apache-2.0

import CarrelHome

/// A position in the interval log of an order, by the columns that sort it: `next` of one page of the history is
/// `after` of the following.
struct IntervalCursor: Sendable, Equatable {
    /// The effective end and the start, in milliseconds since 1970, the end position, the end, and the start position.
    let columns: [Int64]

    /// Stands before the newest of all intervals.
    static let newest = IntervalCursor(columns: Array(repeating: .max, count: 5))

    init(columns: [Int64]) {
        self.columns = columns
    }

    init?(_ text: String?) throws(ServerError) {
        guard let text else { return nil }
        columns = text.split(separator: "_", maxSplits: 5, omittingEmptySubsequences: false).compactMap { Int64($0) }
        guard columns.count == 5 else { throw ServerError(.invalid, "\"after\" must be the \"next\" of an earlier page") }
    }

    var text: String { columns.map(String.init).joined(separator: "_") }
}
