// SPDX-License-Identifier: Apache-2.0

// The HTTP client against C loops over the same libcurl, alternating in one run: processor time of the whole process, so that a
// busy machine does not count. Prints the median of the ratios with the least and the greatest: 1.00 is what C takes.
// Arguments: the URL of a large file and of a small one, on a server of their own (see `run`).

import CClientLoops
import CarrelHTTPClient
import Glibc

let (large, small) = (CommandLine.arguments[1], CommandLine.arguments[2])
let rounds = 9

func processorSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func report(_ name: String, unit: String, per count: Double, ours: () async throws -> Int, floor: () -> Int) async rethrows {
    var ratios: [Double] = []
    var best = (ours: Double.infinity, floor: Double.infinity)
    for _ in 0..<rounds {
        let start = processorSeconds()
        let mine = try await ours()
        let middle = processorSeconds()
        let theirs = floor()
        let end = processorSeconds()
        precondition(mine == theirs && mine > 0, "the two did not get the same")
        ratios.append((middle - start) / (end - middle))
        best = (min(best.ours, middle - start), min(best.floor, end - middle))
    }
    ratios.sort()
    func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
    print(
        "\(name): \(rounded(ratios[rounds / 2])) × the processor time of C [\(rounded(ratios[0])), \(rounded(ratios[rounds - 1]))];",
        "at best \(rounded(best.ours / count)) \(unit), C \(rounded(best.floor / count))"
    )
}

let client = HTTPClient()
let file = unsafe open("/dev/shm/carrel-client-bench", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
unsafe unlink("/dev/shm/carrel-client-bench")
let request = ClientRequest(large, maxResponseBytes: 4 << 30)
let size = unsafe Double(loop_download(large, file)) / 1e9

try await report("download into a file", unit: "s/GB", per: size) {
    Int(try await client.download(request, to: file).bytesReceived)
} floor: {
    unsafe loop_download(large, file)
}
try await report("streamed chunk by chunk", unit: "s/GB", per: size) {
    var count = 0
    try await client.stream(request) { count += $0.byteCount }
    return count
} floor: {
    unsafe loop_requests(large, 1, 1)
}
let requests = 4000
for parallel in [1, 32] {
    try await report("\(parallel) small requests at a time", unit: "µs each", per: Double(requests) / 1e6) {
        try await withThrowingTaskGroup { group in
            for _ in 0..<parallel {
                group.addTask {
                    var count = 0
                    for _ in 0..<requests / parallel { count += try await client.send(ClientRequest(small)).body.count }
                    return count
                }
            }
            var count = 0
            for try await part in group { count += part }
            return count
        }
    } floor: {
        unsafe loop_requests(small, Int32(requests), Int32(parallel))
    }
}

// how long a cancelled request takes to end, on a server that never answers
var delays: [Duration] = []
let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
var address = sockaddr_in()
address.sin_family = sa_family_t(AF_INET)
var length = socklen_t(MemoryLayout<sockaddr_in>.size)
unsafe withUnsafeMutableBytes(of: &address) { bytes in
    guard let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
    unsafe bind(silent, address, length)
    listen(silent, 1000)
    unsafe getsockname(silent, address, &length)
}
let port = UInt16(bigEndian: address.sin_port)
for _ in 0..<200 {
    let task = Task { try await client.send(ClientRequest("http://127.0.0.1:\(port)/")) }
    try await Task.sleep(for: .milliseconds(2))
    let start = ContinuousClock.now
    task.cancel()
    _ = await task.result
    delays.append(start.duration(to: .now))
}
delays.sort()
let (middle, worst) = (delays[100] / .milliseconds(1), delays[199] / .milliseconds(1))
print("a cancelled request ends after \(middle) ms in the middle, \(worst) ms at worst")
