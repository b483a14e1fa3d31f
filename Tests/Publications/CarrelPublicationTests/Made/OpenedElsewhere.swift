// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelTesting
import Glibc
import Testing

/// The result of opening a publication in a separate process (`Tests/Programs/PublicationProgram`).
struct OpenedElsewhere {
    /// `open`, or the code of the error.
    let outcome: String
    let message: String
    let title: String
    let links: Int
    let warnings: [String]
    /// Codes of the errors of the resources that could not be read, by address.
    let failures: [String: String]
    /// MiB; 0 under a sanitizer.
    let peak: Double
    /// Seconds of the processor's time.
    let work: Double

    /// - Parameters:
    ///   - path: the file's path.
    ///   - reading: whether every resource is read to its end.
    ///   - seconds: of the processor's time, after which the system ends the process; nil for as many as it likes.
    /// - Throws: when the process traps, is ended, or takes longer than anything that ends.
    init(_ path: String, reading: Bool = false, seconds: Int? = nil) async throws {
        let program = try Self.program()
        let limit = (Self.isSanitized ? nil : seconds).map { ["--seconds", "\($0)"] } ?? []
        let result = try await runProcess([program, path] + (reading ? ["--read"] : []) + limit, timeout: .seconds(120))
        try #require(result.status != .signaled(SIGXCPU), "it took more than \(seconds ?? 0) s of the processor's time")
        try #require(result.status.isSuccess, "\(result.status) \(result.errorText.suffix(2000))")
        let bytes = Array(result.text.utf8)
        let json = try JSON.parse(bytes.rawSpan, limits: JSONLimits(byteCount: 64 << 20))
        outcome = json["outcome"]?.string ?? ""
        message = json["message"]?.string ?? ""
        title = json["title"]?.string ?? ""
        links = json["links"]?.int ?? 0
        warnings = (json["warnings"]?.array ?? []).compactMap(\.string)
        let failures = json["failures"]?.object.map(Array.init) ?? []
        self.failures = Dictionary(uniqueKeysWithValues: failures.map { ($0.name, $0.value.string ?? "") })
        peak = Self.isSanitized ? 0 : Double(json["peakKiB"]?.int ?? 0) / 1024
        work = Double(json["cpuMicroseconds"]?.int ?? 0) / 1_000_000
    }

    /// A sanitizer takes memory and time of its own, so that neither is measured (`scripts/test-sanitize`).
    private static let isSanitized = unsafe getenv("CARREL_SANITIZER") != nil

    /// The time limit for opening a hostile file: 1 s in a release build; a test build takes several times as long.
    static let hostileSeconds: Int = {
        #if DEBUG
            10
        #else
            1
        #endif
    }()

    /// The path of the program, which is built next to the tests.
    static func program() throws -> String {
        let found = unsafe realpath("/proc/self/exe", nil)
        defer { unsafe free(found) }
        let here = unsafe try #require(found.map { unsafe String(cString: $0) })
        return here.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" } + "/PublicationProgram"
    }
}
