// SPDX-License-Identifier: Apache-2.0

// Reading and writing a batch of listening intervals against FoundationEssentials' coders, and dates against its parser, alternating
// in one run. Prints the median of the ratios of speed with the least and the greatest: 2.00 is twice as fast as the peer.

import CarrelBytes
import CarrelJSON
import FoundationEssentials
import Glibc

struct Batch: Codable {
    struct Interval: Codable {
        let orderId, startUtc, endUtc: String
        let startPosition, endPosition: Double
    }

    let deviceId: String
    let intervals: [Interval]
}

let rounds = 15

/// Measures this thread's processor time, so that a busy machine does not count.
func seconds(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    try body()
    return now() - start
}

func report(_ name: String, times: Int, ours: () throws -> Void, peer: () throws -> Void) rethrows {
    var ratios: [Double] = []
    var best = (ours: Double.infinity, peer: Double.infinity)
    for _ in 0..<rounds {
        let mine = try seconds { for _ in 0..<times { try ours() } }
        let theirs = try seconds { for _ in 0..<times { try peer() } }
        ratios.append(theirs / mine)
        best = (min(best.ours, mine), min(best.peer, theirs))
    }
    ratios.sort()
    func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
    func each(_ seconds: Double) -> String { "\(rounded(seconds / Double(times) * 1e6)) µs" }
    print(
        "\(name): \(rounded(ratios[rounds / 2])) × Foundation [\(rounded(ratios[0])), \(rounded(ratios[rounds - 1]))];",
        "at best \(each(best.ours)), Foundation \(each(best.peer))"
    )
}

let batch = Batch(
    deviceId: "1c6f0a52-8e7b-4d5e-9b1a-2f3c4d5e6f70",
    intervals: (0..<10).map { number in
        Batch.Interval(
            orderId: "4e5f6a7b-0c1d-4e2f-8a3b-4c5d6e7f8091",
            startUtc: "2020-01-15T18:58:5\(number).977Z",
            endUtc: "2020-01-15T18:59:0\(number).114Z",
            startPosition: Double(number) * 10.25,
            endPosition: Double(number) * 10.25 + 10
        )
    }
)
let data = try JSONEncoder().encode(batch)
let text = Array(data)
let value = try JSON.parse(text.rawSpan)
let decoder = JSONDecoder()
let encoder = JSONEncoder()
var used = 0

try report("reading a batch of \(text.count) bytes", times: 500) {
    used += try JSON.parse(text.rawSpan)["intervals"]?.array?.count ?? 0
} peer: {
    used += try decoder.decode(Batch.self, from: data).intervals.count
}
try report("writing it", times: 500) {
    used += value.write().count
} peer: {
    used += try encoder.encode(batch).count
}
let date = "2020-01-15T18:58:53.977Z"
let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
let instant = Instant.now()
let foundationDate = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
try report("reading a date", times: 5000) {
    used += Instant.parse(date) == nil ? 0 : 1
} peer: {
    used += try Date(date, strategy: style).timeIntervalSince1970 > 0 ? 1 : 0
}
report("writing a date", times: 5000) {
    used += instant.description.utf8.count
} peer: {
    used += foundationDate.formatted(style).utf8.count
}
precondition(used > 0)
