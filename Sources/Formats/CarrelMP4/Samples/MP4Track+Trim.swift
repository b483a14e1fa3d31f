// SPDX-License-Identifier: Apache-2.0

extension MP4Track {
    /// The part of the decoded audio that is not part of the work.
    package struct Trim: Sendable, Hashable {
        /// Samples of each channel to drop from the start.
        package var leading: Int
        /// Samples of each channel to drop from the end.
        package var trailing: Int

        package init(leading: Int, trailing: Int) {
            self.leading = leading
            self.trailing = trailing
        }
    }

    /// Number of decoded samples to drop, from `iTunSMPB` or, if the file has none, from the edit list and a last sample that is
    /// declared shorter than its frame.
    ///
    /// - Parameters:
    ///   - mediaDuration: the duration of all samples, in units of `timescale`.
    ///   - sampleCount: decoded samples per channel in all frames.
    ///   - sampleRate: decoded samples per second.
    /// - Returns: zeros if the file does not declare it, presents several intervals, or would lose more than 2^20 samples at an
    ///   end.
    package func trim(mediaDuration: Int64, sampleCount: Int64, sampleRate: Int) -> Trim {
        guard timescale > 0, sampleRate > 0 else { return Trim(leading: 0, trailing: 0) }
        func samples(_ units: Int64) -> Int64 { Timescale.convert(units, times: sampleRate, over: timescale) }
        if let gapless { return trim(samples(gapless.delay), samples(gapless.padding), of: sampleCount) }
        var start: Int64 = 0
        var length = mediaDuration
        if !editList.edits.isEmpty {
            guard let edit = editList.single, edit.mediaTime <= mediaDuration else { return Trim(leading: 0, trailing: 0) }
            start = edit.mediaTime
            length = mediaDuration - start
            if edit.duration > 0, movieTimescale > 0 {
                // the movie's clock is coarse: an end within one of its ticks is the end
                let presented = Timescale.convert(edit.duration, times: timescale, over: movieTimescale)
                if length - presented > Int64(timescale / movieTimescale) + 1 { length = presented }
            }
        }
        return trim(samples(start), sampleCount - samples(start) - samples(length), of: sampleCount)
    }

    private func trim(_ start: Int64, _ end: Int64, of count: Int64) -> Trim {
        let start = (0..<1 << 20).contains(start) ? start : 0
        let end = (0..<1 << 20).contains(end) ? end : 0
        return start + end < count ? Trim(leading: Int(start), trailing: Int(end)) : Trim(leading: 0, trailing: 0)
    }
}
