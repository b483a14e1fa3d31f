// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import Glibc
import ProtectedMedia
import Testing

/// The cost of reading a hostile file in one way.
struct HostileCost {
    var work: String
    var outcome: String
    var seconds: Double
    /// Beyond what the process had before.
    var mebibytes: Double

    /// Reads a file in this process in every way, and prints what that costs.
    static func measure(_ name: String) async throws {
        guard let make = HostileFile.all[name] else { fatalError("no such file") }
        let file = try make()
        for work in MediaWork.allCases {
            let before = status("VmRSS")
            // the peak counts from here
            if let stream = unsafe fopen("/proc/self/clear_refs", "we") {
                unsafe fputs("5", stream)
                unsafe fclose(stream)
            }
            let clock = ContinuousClock.now
            var outcome = "read"
            do { try await work.run(file) } catch { outcome = "\(error)" }
            let seconds = (ContinuousClock.now - clock) / .seconds(1)
            print("\nCOST\t\(work.rawValue)\t\(seconds)\t\(Double(status("VmHWM") - before) / 1024)\t\(outcome)")
            fflush(nil)
        }
    }

    private static func status(_ field: String) -> Int {
        let text = String(decoding: Fixtures.bytes(at: "/proc/self/status") ?? [], as: UTF8.self)
        for line in text.split(separator: "\n") where line.hasPrefix("\(field):") {
            return Int(line.split(whereSeparator: { " \t".contains($0) })[1]) ?? 0
        }
        return 0
    }

    init?(_ line: some StringProtocol) {
        let fields = line.split(separator: "\t", maxSplits: 4)
        guard fields.count == 5, fields[0] == "COST", let seconds = Double(fields[2]), let mebibytes = Double(fields[3]) else {
            return nil
        }
        work = String(fields[1])
        outcome = String(fields[4])
        self.seconds = seconds
        self.mebibytes = mebibytes
    }
}

@Suite(.serialized) struct `Hostile MP4 files` {
    private static let isSanitized = unsafe getenv("CARREL_SANITIZER") != nil

    /// The time limit of a refusal: 1 s in a release build.
    private static let seconds: Double = {
        #if DEBUG
            10
        #else
            1
        #endif
    }()

    @Test(arguments: HostileFile.all.keys.sorted())
    func `take little time and memory, however they are read`(name: String) async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [name = name as String] in
            try await HostileCost.measure(name)
        }
        let text = String(decoding: result.standardOutputContent, as: UTF8.self)
        let costs = text.split(separator: "\n").compactMap { HostileCost($0) }
        #expect(costs.map(\.work) == MediaWork.allCases.map(\.rawValue))
        for cost in costs where !Self.isSanitized {
            #expect(cost.seconds < Self.seconds && cost.mebibytes < 32, "\(cost)")
        }
    }
}
