// SPDX-License-Identifier: Apache-2.0

import CarrelAudio

extension SegmentIndex {
    /// Microseconds before a segment, or before the end if there is no such segment; rounded to the nearest.
    func microseconds(atSegment number: Int) -> Int64 {
        let sample = min(Int64(number) * Int64(samplesPerSegment), totalSamples)
        let rate = Int64(format.sampleRate)
        let (seconds, remainder) = sample.quotientAndRemainder(dividingBy: rate)
        return seconds * 1_000_000 + (remainder * 1_000_000 + rate / 2) / rate
    }

    /// Bit rates of encrypted segments, as a multivariant playlist declares them (RFC 8216 §4.3.4.2).
    ///
    /// - Parameter form: how segments carry their frames.
    /// - Returns: bits per second: the highest of any segment, except a last one of under half the length of the others, and
    ///   the average.
    package func bandwidth(form: SegmentForm) -> (peak: Int, average: Int) {
        var peak = 0.0
        var total = 0.0
        for number in 0..<segmentCount {
            let bits = Double(length(ofSegment: number, form: form, encrypted: true)) * 8
            let segment = segment(number)
            total += bits
            if number == 0 || segment.frameCount * 2 >= framesPerSegment {
                peak = max(peak, bits / Double(segment.sampleCount))
            }
        }
        let average = totalSamples > 0 ? total / Double(totalSamples) : 0
        let rate = Double(format.sampleRate)
        return (Int((max(peak, average) * rate).rounded(.up)), Int((average * rate).rounded(.up)))
    }
}
