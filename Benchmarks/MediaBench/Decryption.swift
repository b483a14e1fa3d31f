// SPDX-License-Identifier: Apache-2.0

import CMediaLoops
import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTS
import Glibc

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

/// Prints the median of the ratios of speed, 1.00 being the speed of the floor.
func report(_ name: String, bytes: Int, rounds: Int = 15, ours: () throws -> Void, floor: () -> Void) rethrows {
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
    func rate(_ seconds: Double) -> String { "\(rounded(Double(bytes) / seconds / 1e9)) GB/s" }
    print(
        "\(name): \(rounded(ratios[rounds / 2])) of C [\(rounded(ratios[0])), \(rounded(ratios[rounds - 1]))];",
        "at best \(rate(best.ours)), C \(rate(best.floor))"
    )
}

/// Samples of a picture: 60 kB each, 100 bytes of which are clear.
func measureDecryption() async throws {
    let key = [UInt8](repeating: 0x2b, count: 16)
    let secret = Secret(key)
    let (sampleLength, count) = (60_000, 64)
    for scheme in CommonEncryptionScheme.allCases {
        let pattern = scheme == .cenc || scheme == .cbc1 ? BlockPattern.whole : BlockPattern(crypt: 1, skip: 9)
        var buffer = [UInt8](repeating: 0x5a, count: sampleLength * count)
        var ranges: [media_range] = []
        var parameters: [SampleEncryption] = []
        let protected = (sampleLength - 100) / 16 * 16
        for sample in 0..<count {
            let iv = AESBlock(high: UInt64(sample), low: 0)
            parameters.append(
                SampleEncryption(
                    iv: iv,
                    pattern: pattern,
                    subsamples: [.init(clear: sampleLength - protected, protected: protected)]
                )
            )
            let start = sample * sampleLength + sampleLength - protected
            var blocks = pattern.isWhole ? [(0, protected)] : []
            if !pattern.isWhole {
                for at in stride(from: 0, to: protected, by: 160) { blocks.append((at, 16)) }
            }
            for (i, block) in blocks.enumerated() {
                var range = media_range()
                range.start = start + block.0
                range.count = block.1
                range.starts = i == 0 ? 1 : 0
                unsafe withUnsafeMutableBytes(of: &range.iv) { unsafe $0.copyBytes(from: iv.bytes) }
                ranges.append(range)
            }
        }
        var cipher = try SampleCipher(scheme, key: secret)
        try report("\(scheme) of 64 samples", bytes: buffer.count) {
            var elements = buffer.mutableSpan
            var bytes = unsafe elements.mutableBytes
            for sample in 0..<count {
                try cipher.apply(to: &bytes, in: sample * sampleLength..<(sample + 1) * sampleLength, parameters[sample])
            }
        } floor: {
            let done = unsafe media_loop(&buffer, ranges, ranges.count, key, scheme.isCounter ? 0 : 1)
            precondition(done == ranges.count)
        }
    }
}

/// Remuxes a file of fragments as if it came in pieces of 256 KiB.
func remuxPieces(_ source: LocalFile, to sink: inout DescriptorSink, _ keys: GivenKeys) async throws {
    var remux = SegmentRemux([SegmentRemux.Stream()])
    var at: Int64 = 0
    while true {
        try await remux.write(to: &sink, keys: keys)
        guard at < source.length else { break }
        let end = min(source.length, at + 262_144)
        let piece = try source.read(at..<end)
        remux.append(piece.rawSpan)
        at = end
        if at == source.length { remux.end() }
    }
}
