// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelJSON
import Glibc

/// Writes errors that a client sees as a 500 to standard error, as one line of JSON each, with the client's request ID.
final class ErrorLog: Sendable {
    /// Errors are one sentence; longer text is cut.
    private static let longest = 1000

    private let lines: LineWriter

    /// - Parameter descriptor: the destination of the lines.
    init(to descriptor: Int32 = STDERR_FILENO) {
        lines = LineWriter(name: "failure-log", to: descriptor, room: 1 << 20)
    }

    /// Lines that were left out because their reader was too slow.
    var lost: Int { lines.lost }

    /// Writes a line for a server request. Never waits for the reader.
    @Sendable func write(_ error: any Error, _ request: HTTPRequest) {
        let line = Self.line(error, request)
        lines.append { $0 += line }
    }

    /// Returns when the errors so far are written.
    func flush() async {
        await lines.flush()
    }

    /// Writes the line before it returns: for a command that serves itself and ends.
    @Sendable static func writeNow(_ error: any Error, _ request: HTTPRequest) {
        let line = line(error, request) + [UInt8(ascii: "\n")]
        _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private static func line(_ error: any Error, _ request: HTTPRequest) -> [UInt8] {
        let record: JSON = [
            "time": .string(Instant.now().description), "id": .string(request.id), "method": .string(request.method.rawValue),
            "error": .string(String(String(describing: error).prefix(longest))),
        ]
        return record.write()
    }
}
