// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

/// Memory, descriptors and threads of a process.
struct ProcessUse: CustomStringConvertible {
    var mebibytes: Double
    /// The most memory so far.
    var peakMebibytes: Double
    var descriptors: Int
    var threads: Int

    var description: String { "\(mebibytes) MiB, \(descriptors) descriptors, \(threads) threads" }

    /// Measures the current use.
    ///
    /// - Parameter process: its id; nil for this process.
    init(of process: Int32? = nil) {
        let folder = "/proc/\(process.map { "\($0)" } ?? "self")"
        let text = String(decoding: Fixtures.bytes(at: "\(folder)/status") ?? [], as: UTF8.self)
        func value(_ field: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(field) }
            return line.flatMap { $0.split(whereSeparator: { " \t".contains($0) }).dropFirst().first }.flatMap { Int($0) } ?? 0
        }
        descriptors = (try? FixtureFolder.names(in: "\(folder)/fd").count) ?? 0
        mebibytes = Double(value("VmRSS:")) / 1024
        peakMebibytes = Double(value("VmHWM:")) / 1024
        threads = value("Threads:")
    }

    /// A process's use once nothing has been opened or closed for a while.
    static func rested(_ process: Int32? = nil) async throws -> ProcessUse {
        var last = ProcessUse(of: process)
        var since = ContinuousClock.now
        for _ in 0..<600 where since.duration(to: .now) < .seconds(3) {
            try await Task.sleep(for: .milliseconds(100))
            let now = ProcessUse(of: process)
            if now.descriptors != last.descriptors || now.threads != last.threads { since = .now }
            last = now
        }
        return last
    }
}
