import CarrelBytes
import CarrelHTTP
import CarrelJSON
import Glibc

/// What a client sees only as a 500, on standard error, a line of JSON each, under the request id that the client was given.
enum FailureLog {
    /// Errors say what happened in a sentence; what is longer is cut.
    private static let longest = 1000

    @Sendable static func write(_ error: any Error, _ request: HTTPRequest) {
        let record: JSON = [
            "time": .string(Instant.now().description), "id": .string(request.id), "method": .string(request.method.rawValue),
            "error": .string(String(String(describing: error).prefix(longest))),
        ]
        let line = record.write() + [UInt8(ascii: "\n")]
        _ = unsafe line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
