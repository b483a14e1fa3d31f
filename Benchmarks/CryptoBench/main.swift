// SPDX-License-Identifier: Apache-2.0

// AES-128-CBC of segments and HMAC-SHA-256 of tickets against C loops over the same OpenSSL, alternating in one run.
// Prints the median of the ratios of speed with the least and the greatest: 1.00 is the speed of C.

import CCryptoLoops
import CarrelBytes
import CarrelCrypto
import Glibc

let rounds = 21
let key = [UInt8](repeating: 0x2b, count: 16)
let iv = [UInt8](repeating: 0x7e, count: 16)
let plain = (0..<77_600).map { UInt8(truncatingIfNeeded: $0 &* 31) }

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

func report(_ name: String, times: Int, ours: () throws -> Void, floor: () -> Void) rethrows {
    var ratios: [Double] = []
    var best = (ours: Double.infinity, floor: Double.infinity)
    for _ in 0..<rounds {
        let mine = try seconds(ours)
        let theirs = seconds(floor)
        ratios.append(theirs / mine)
        best = (min(best.ours, mine), min(best.floor, theirs))
    }
    ratios.sort()
    func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
    func each(_ seconds: Double) -> String { "\(rounded(seconds / Double(times) * 1e6)) µs" }
    print(
        "\(name): \(rounded(ratios[rounds / 2])) of C [\(rounded(ratios[0])), \(rounded(ratios[rounds - 1]))];",
        "at best \(each(best.ours)), C \(each(best.floor))"
    )
}

var storage = [UInt8](repeating: 0, count: AESCBCEncryptor.cipherLength(ofPlainLength: plain.count))
let secret = Secret(key)
try report("AES-128-CBC of 77.6 kB", times: 400) {
    for _ in 0..<400 {
        var span = storage.mutableSpan
        try unsafe span.withUnsafeMutableBytes { buffer in
            var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            var cipher = try AESCBCEncryptor(key: secret, iv: iv)
            try cipher.update(plain.rawSpan, into: &out)
            try cipher.finish(into: &out)
            _ = unsafe out.finalize(for: buffer)
        }
    }
} floor: {
    let written = unsafe loop_aes_cbc(plain, plain.count, &storage, key, iv, 400)
    precondition(written == storage.count)
}

let message = Array(plain.prefix(60))
var tag: [UInt8] = []
var floorTag = [UInt8](repeating: 0, count: 32)
let mac = HMACSHA256(key: secret)
report("HMAC-SHA-256 of 60 bytes", times: 100_000) {
    for _ in 0..<100_000 { tag = mac.authenticate(message.rawSpan) }
} floor: {
    let done = unsafe loop_hmac(message, message.count, &floorTag, key, key.count, 100_000)
    precondition(done == 1)
}
precondition(tag == floorTag)
