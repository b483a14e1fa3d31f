// SPDX-License-Identifier: Apache-2.0

/// The arithmetic of a progress bar: fraction, rate and remaining time.
struct ProgressMeter: Sendable {
    /// The unit of counting.
    enum Unit: Sendable {
        case bytes
        case items
    }

    var label: String
    /// The total; nil if it is not known.
    var total: Int64?
    let unit: Unit
    private(set) var completed: Int64 = 0
    private let startTime: Duration
    /// The progress and its times over the last ten seconds or so, for a rate that follows recent work.
    private var samples: [(time: Duration, completed: Int64)]

    init(label: String, total: Int64?, unit: Unit, at time: Duration) {
        self.label = label
        self.total = total
        self.unit = unit
        startTime = time
        samples = [(time, 0)]
    }

    mutating func record(_ completed: Int64, at time: Duration) {
        self.completed = completed
        guard let last = samples.last, time - last.time >= .milliseconds(500) else { return }
        samples.append((time, completed))
        while samples.count > 2, time - samples[1].time >= .seconds(10) { samples.removeFirst() }
    }

    /// Units a second; nil in the first second.
    func rate(at time: Duration) -> Double? {
        guard let first = samples.first, time - startTime >= .seconds(1) else { return nil }
        let seconds = (time - first.time) / .seconds(1)
        return seconds > 0 ? Double(completed - first.completed) / seconds : nil
    }

    /// Time left; nil if it cannot be said.
    func timeLeft(at time: Duration) -> Duration? {
        guard let total, let rate = rate(at: time), rate > 0 else { return nil }
        return .seconds(Double(max(0, total - completed)) / rate)
    }

    func elapsed(at time: Duration) -> Duration { time - startTime }

    /// Part done, from 0 to 1.
    private var fraction: Double? {
        guard let total else { return nil }
        return total <= 0 ? 1 : min(1, max(0, Double(completed) / Double(total)))
    }

    /// One line for a log: `ingesting book.mp3: 45 %, 450.0 MB of 1.0 GB, 120.0 MB/s, 0:05 left`.
    func plainLine(at time: Duration) -> String {
        let percent = fraction.map { ["\(Int($0 * 100)) %"] } ?? []
        return "\(label): \((percent + facts(at: time)).joined(separator: ", "))"
    }

    /// One line for a terminal, at most `columns` wide: label, bar, facts; the bar is dropped first, then the facts.
    func line(at time: Duration, columns: Int, unicode: Bool) -> String {
        var facts = facts(at: time)
        let percent = fraction.map { "\(Int($0 * 100)) %".padded(to: 5, onTheLeft: true) } ?? ""
        let name = label.shortened(to: max(12, columns / 3))
        while true {
            let text = facts.isEmpty ? "" : "  \(facts.joined(separator: "  "))"
            let room = columns - 1 - name.columns - percent.columns - text.columns - 3
            if let fraction, room >= 10 {
                // a width that all the facts leave room for, so that it stays when they come
                let width = min(room, max(10, (columns - 56) / 2))
                return "\(name) \(bar(fraction, width, unicode)) \(percent)\(text)"
            }
            if room >= -2 || facts.isEmpty { return "\(name) \(percent)\(text)".shortened(to: columns - 1) }
            facts.removeFirst()
        }
    }

    private func bar(_ fraction: Double, _ width: Int, _ unicode: Bool) -> String {
        let filled = Int(fraction * Double(width))
        return String(repeating: unicode ? "━" : "#", count: filled)
            + String(repeating: unicode ? "─" : ".", count: width - filled)
    }

    private func facts(at time: Duration) -> [String] {
        var facts = [total.map { "\(show(completed)) of \(show($0))" } ?? show(completed)]
        if let rate = rate(at: time) { facts.append("\(show(rate))/s") }
        if let remaining = timeLeft(at: time) { facts.append("\(remaining.clock) left") }
        return facts
    }

    private func show(_ count: Int64) -> String { unit == .bytes ? ByteCount(count).rounded : String(count) }
    private func show(_ rate: Double) -> String { unit == .bytes ? ByteCount(Int64(rate)).rounded : rate.tenths }
}

extension Duration {
    /// As a clock shows it: `0:05`, `12:34`, `1:02:03`.
    var clock: String {
        let seconds = components.seconds + (components.attoseconds >= 500_000_000_000_000_000 ? 1 : 0)
        let two = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        let lastDigits = "\(two(seconds % 60))"
        return seconds < 3600 ? "\(seconds / 60):\(lastDigits)" : "\(seconds / 3600):\(two(seconds / 60 % 60)):\(lastDigits)"
    }
}
