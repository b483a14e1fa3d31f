// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPServer

/// Requests on standard error, a line of JSON each.
final class AccessLog: Sendable {
    private let lines = LineWriter(name: "access-log")

    /// Lines that were left out because their reader was too slow.
    var lost: Int { lines.lost }

    @Sendable func write(_ record: AccessRecord) {
        lines.append { record.write(to: &$0) }
    }

    /// Returns when the requests so far are written.
    func flush() async {
        await lines.flush()
    }
}
