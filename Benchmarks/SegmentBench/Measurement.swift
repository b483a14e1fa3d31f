// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How our speed compares with the floor's.
struct Measurement {
    static let rounds = 15

    let name: String
    let ratios: [Double]  // sorted
    let microseconds: Double
    let floor: Double
    var note = ""

    init(_ name: String, times: Int, ours: () throws -> Void, floor: () -> Void) rethrows {
        var ratios: [Double] = []
        var best = (ours: Double.infinity, floor: Double.infinity)
        for _ in 0..<Self.rounds {
            let mine = try seconds(ours)
            let theirs = seconds(floor)
            ratios.append(theirs / mine)
            best = (min(best.ours, mine), min(best.floor, theirs))
        }
        self.name = name
        self.ratios = ratios.sorted()
        microseconds = best.ours / Double(times) * 1e6
        self.floor = best.floor / Double(times) * 1e6
    }

    var text: String {
        "\(name): \(rounded(ratios[Self.rounds / 2])) of C [\(rounded(ratios[0])), \(rounded(ratios[Self.rounds - 1]))]; "
            + "at best \(rounded(microseconds)) µs, C \(rounded(floor)) µs, \(note)"
    }

    var json: String {
        "{\"name\":\"\(name)\",\"median\":\(rounded(ratios[Self.rounds / 2])),\"min\":\(rounded(ratios[0])),"
            + "\"max\":\(rounded(ratios[Self.rounds - 1])),\"microseconds\":\(rounded(microseconds)),\"floor\":\(rounded(floor))}"
    }
}

func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

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
