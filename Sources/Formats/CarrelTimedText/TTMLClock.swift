// SPDX-License-Identifier: Apache-2.0

/// The time expressions of a TTML document (W3C TTML2 §12.3.1), and its frame and tick rates.
struct TTMLClock: Sendable {
    private var frameRate: Double = 30
    private var tickRate: Double = 1

    init() {}

    /// - Parameters:
    ///   - frameRate: frames per second; 30 if nil.
    ///   - multiplier: such as `1000 1001`.
    ///   - tickRate: ticks per second; if nil, the frame rate, or 1 without a frame rate.
    ///   - subFrameRate: subframes per frame.
    init(frameRate: String?, multiplier: String?, tickRate: String?, subFrameRate: String?) {
        func rate(_ text: String?) -> Double? { text.flatMap { Double($0) }.flatMap { $0 > 0 && $0 <= 1e9 ? $0 : nil } }
        self.frameRate = rate(frameRate) ?? 30
        let parts = (multiplier ?? "").split(whereSeparator: { $0 == " " || $0 == ":" }).compactMap { rate(String($0)) }
        if parts.count == 2 { self.frameRate *= parts[0] / parts[1] }
        self.tickRate = rate(tickRate) ?? (frameRate == nil ? 1 : self.frameRate * (rate(subFrameRate) ?? 1))
    }

    /// The seconds of an expression: `hh:mm:ss`, with a fraction or with frames, or an offset such as `1.5s`; nil if it is
    /// neither.
    func seconds(_ text: String) -> Double? {
        let text = text.drop { $0 == " " }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 1 else { return clockTime(parts) }
        let digits = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        guard let value = Self.number(digits) else { return nil }
        switch text.dropFirst(digits.count) {
        case "h": return value * 3600
        case "m": return value * 60
        case "s": return value
        case "ms": return value / 1000
        case "f": return value / frameRate
        case "t": return value / tickRate
        default: return nil
        }
    }

    private func clockTime(_ parts: [Substring]) -> Double? {
        guard parts.count == 3 || parts.count == 4, let hours = Self.number(parts[0]), let minutes = Self.number(parts[1]),
            let seconds = Self.number(parts[2]), minutes < 60, seconds < 61
        else { return nil }
        var time = (hours * 60 + minutes) * 60 + seconds
        if parts.count == 4 {
            // frames, with subframes after a point
            guard let frames = Self.number(parts[3]) else { return nil }
            time += frames / frameRate
        }
        return time
    }

    /// A number of digits with at most one point.
    private static func number(_ text: Substring) -> Double? {
        guard !text.isEmpty, text.utf8.count <= 24, text.first != ".", text.last != ".",
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2e })
        else { return nil }
        return Double(text)
    }

    /// Milliseconds, rounded to the nearest; a time without an end becomes a thousand hours more than a WebVTT file can have.
    static func milliseconds(_ seconds: Double) -> Int64 {
        let value = (seconds * 1000).rounded()
        return value < 1e15 ? Int64(max(0, value)) : 1_000_000_000_000_000
    }
}
