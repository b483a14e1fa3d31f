// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelProxy

/// A line on a terminal with the player's progress: buffered time, bytes sent, bit rate and last segment.
struct PlayerProgressLine: Sendable {
    private let line: LiveLine
    private let session: PlaylistProxy.Session

    /// A buffer of this length fills the bar.
    private static let full = Duration.seconds(60)

    init(_ console: Console, _ session: PlaylistProxy.Session) {
        line = LiveLine(console)
        self.session = session
        // start counting here
        if line.isShown { _ = session.progress() }
    }

    /// Draws until the task is cancelled.
    func run() async {
        guard line.isShown else { return }
        while !Task.isCancelled {
            let progress = session.progress()
            if progress.segments > 0 {
                let buffered = progress.buffered(at: .now)
                line.show(Self.parts(progress, buffered), fraction: buffered / Self.full)
            }
            do { try await Task.sleep(for: .milliseconds(250)) } catch { break }
        }
        line.finish()
    }

    /// The facts, the most important one first.
    static func parts(_ progress: SessionProgress, _ buffered: Duration) -> [String] {
        var parts = ["\(clock(buffered)) buffered"]
        parts.append(clock(progress.media) + (progress.duration.map { " of \(clock($0)) sent" } ?? " sent"))
        if let bitrate = progress.bitrate {
            parts.append(
                bitrate >= 1_000_000 ? "\(bitrate / 100_000 / 10).\(bitrate / 100_000 % 10) Mbit/s" : "\(bitrate / 1000) kbit/s"
            )
        }
        if let segment = progress.segment { parts.append("segment \(segment + 1)") }
        return parts
    }

    /// A duration in clock format: `0:05`, `12:34`, `1:02:03`.
    private static func clock(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded())
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        return seconds < 3600
            ? "\(seconds / 60):\(two(seconds % 60))" : "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}
