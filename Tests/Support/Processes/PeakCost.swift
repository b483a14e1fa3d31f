// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time and memory that a piece of work takes in a process of its own.
package struct PeakCost: Sendable {
    package var seconds: Double
    /// Beyond what the process had before.
    package var mebibytes: Double

    /// Does the work in this process, and prints its cost for ``init(output:)``.
    package static func measure(_ work: () -> Void) {
        let start = Start()
        work()
        start.report()
    }

    /// Does asynchronous work in the same way.
    package static func measure(_ work: () async throws -> Void) async rethrows {
        let start = Start()
        try await work()
        start.report()
    }

    private struct Start {
        let memory = status("VmRSS:")
        let clock: ContinuousClock.Instant

        init() {
            // the peak counts from here
            if let stream = unsafe fopen("/proc/self/clear_refs", "we") {
                unsafe fputs("5", stream)
                unsafe fclose(stream)
            }
            clock = .now
        }

        func report() {
            let seconds = (ContinuousClock.now - clock) / .seconds(1)
            print("\nCOST\t\(seconds)\t\(Double(status("VmHWM:") - memory) / 1024)")
            fflush(nil)
        }
    }

    /// Reads the cost in the output of a process; nil if there is none.
    package init?(output: [UInt8]) {
        for line in String(decoding: output, as: UTF8.self).split(separator: "\n") where line.hasPrefix("COST\t") {
            let fields = line.split(separator: "\t")
            guard fields.count == 3, let seconds = Double(fields[1]), let mebibytes = Double(fields[2]) else { return nil }
            self.seconds = seconds
            self.mebibytes = mebibytes
            return
        }
        return nil
    }

    private static func status(_ field: String) -> Int {
        let text = String(decoding: Fixtures.bytes(at: "/proc/self/status") ?? [], as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix(field) {
            return Int(line.split(whereSeparator: { " \t".contains($0) })[1]) ?? 0
        }
        return 0
    }
}

extension PeakCost {
    /// Whether a sanitizer runs, which makes costs meaningless.
    package static var isSanitized: Bool { unsafe getenv("CARREL_SANITIZER") != nil }

    /// Seconds of a refusal: built for release 1.
    package static let refusalSeconds: Double = {
        #if DEBUG
            20
        #else
            1
        #endif
    }()
}
