// SPDX-License-Identifier: Apache-2.0

import Glibc

let rounds = 15

func time(_ clock: clockid_t) -> Double {
    var now = timespec()
    unsafe clock_gettime(clock, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

/// Processor time, so that a busy machine does not count.
func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    let start = time(CLOCK_PROCESS_CPUTIME_ID)
    try await body()
    return time(CLOCK_PROCESS_CPUTIME_ID) - start
}

func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }

/// Runs both in turns and prints how their times compare.
func report(_ name: String, times: Int, ours: () async throws -> Void, floor: () -> Void) async rethrows {
    var ratios: [Double] = []
    var (mine, theirs): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
        mine.append(try await seconds(ours) / Double(times) * 1e6)
        theirs.append(await seconds(floor) / Double(times) * 1e6)
        ratios.append(theirs[theirs.count - 1] / mine[mine.count - 1])
    }
    ratios.sort()
    print(
        "\(name): \(rounded(ratios[rounds / 2])) of C [\(rounded(ratios[0])), \(rounded(ratios[rounds - 1]))];",
        "\(rounded(mine.sorted()[rounds / 2])) µs, C \(rounded(theirs.sorted()[rounds / 2])) µs"
    )
}

/// The bytes of a file; nil if it cannot be read.
func bytes(at path: String) -> [UInt8]? {
    guard let stream = unsafe fopen(path, "rbe") else { return nil }
    defer { unsafe fclose(stream) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe fread(&bytes, 1, bytes.count, stream)
    return Array(bytes.prefix(count))
}
