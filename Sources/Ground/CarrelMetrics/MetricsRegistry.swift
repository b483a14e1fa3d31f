// SPDX-License-Identifier: Apache-2.0

internal import CarrelThreads

/// Numbers about a running process, in the text form that Prometheus reads.
package final class MetricsRegistry: Sendable {
    /// Names and values that distinguish the series of one metric.
    package typealias Labels = [(name: String, value: String)]

    private enum Series: Sendable {
        case counter(Counter)
        case computed(kind: String, @Sendable () -> Double)
        case histogram(Histogram)
        /// Series whose labels are known only when they are read.
        case listed(kind: String, label: String, @Sendable () -> [(value: String, number: Double)])

        var kind: String {
            switch self {
            case .counter: "counter"
            case .computed(let kind, _): kind
            case .histogram: "histogram"
            case .listed(let kind, _, _): kind
            }
        }
    }

    private struct Family: Sendable {
        let help: String
        let kind: String
        var series: [(labels: String, series: Series)] = []
    }

    private struct State: Sendable {
        var order: [String] = []
        var families: [String: Family] = [:]
    }

    private let state = Locked(State())

    package init() {}

    /// The counter of that name and those labels, made when it is not there. By custom the name ends in `_total`.
    package func counter(_ name: String, _ help: String, _ labels: Labels = []) -> Counter {
        guard case .counter(let counter) = find(name, help, labels, { .counter(Counter()) }) else { preconditionFailure(name) }
        return counter
    }

    /// A counter with an external value, read on demand. By convention the name ends in `_total`.
    package func counter(_ name: String, _ help: String, _ labels: Labels = [], read: @escaping @Sendable () -> Int) {
        _ = find(name, help, labels, replacing: true) { .computed(kind: "counter", { Double(read()) }) }
    }

    /// A gauge, computed when it is read.
    package func gauge(_ name: String, _ help: String, _ labels: Labels = [], read: @escaping @Sendable () -> Double) {
        _ = find(name, help, labels, replacing: true) { .computed(kind: "gauge", read) }
    }

    /// Counters that differ by one label, listed when they are read. By convention the name ends in `_total`.
    package func counters(
        _ name: String,
        _ help: String,
        by label: String,
        read: @escaping @Sendable () -> [(value: String, number: Double)]
    ) {
        _ = find(name, help, [], replacing: true) { .listed(kind: "counter", label: label, read) }
    }

    /// Gauges that differ by one label, listed when they are read.
    package func gauges(
        _ name: String,
        _ help: String,
        by label: String,
        read: @escaping @Sendable () -> [(value: String, number: Double)]
    ) {
        _ = find(name, help, [], replacing: true) { .listed(kind: "gauge", label: label, read) }
    }

    /// The histogram of that name and those labels, made when it is not there. By custom the name ends in `_seconds`.
    package func histogram(
        _ name: String,
        _ help: String,
        _ labels: Labels = [],
        bounds: [Double] = Histogram.latencyBounds
    ) -> Histogram {
        guard case .histogram(let histogram) = find(name, help, labels, { .histogram(Histogram(bounds: bounds)) })
        else { preconditionFailure(name) }
        return histogram
    }

    /// All of it in Prometheus' text exposition format 0.0.4, to be sent as ``contentType``.
    package func text() -> String {
        let state = state.withLock { $0 }
        var out = ""
        for name in state.order {
            guard let family = state.families[name] else { continue }
            out += "# HELP \(name) \(Self.escaped(family.help, quotes: false))\n# TYPE \(name) \(family.kind)\n"
            for (labels, series) in family.series {
                switch series {
                case .counter(let counter): out += "\(name)\(Self.braced(labels)) \(counter.value)\n"
                case .computed(_, let read): out += "\(name)\(Self.braced(labels)) \(Self.number(read()))\n"
                case .listed(_, let label, let read):
                    for (value, number) in read() {
                        out += "\(name){\(label)=\"\(Self.escaped(value, quotes: true))\"} \(Self.number(number))\n"
                    }
                case .histogram(let histogram):
                    let (counts, sum) = histogram.snapshot
                    let comma = labels.isEmpty ? "" : ","
                    for (bound, count) in zip(histogram.bounds.map(Self.number) + ["+Inf"], counts) {
                        out += "\(name)_bucket{\(labels)\(comma)le=\"\(bound)\"} \(count)\n"
                    }
                    out += "\(name)_sum\(Self.braced(labels)) \(Self.number(sum))\n"
                    out += "\(name)_count\(Self.braced(labels)) \(counts.last ?? 0)\n"
                }
            }
        }
        return out
    }

    /// The media type of ``text()``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private func find(
        _ name: String,
        _ help: String,
        _ labels: Labels,
        replacing: Bool = false,
        _ make: () -> Series
    ) -> Series {
        let text = labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }.joined(separator: ",")
        return state.withLock { state in
            if let i = state.families[name]?.series.firstIndex(where: { $0.labels == text }), !replacing {
                return state.families[name]?.series[i].series ?? make()
            }
            let series = make()
            if state.families[name] == nil {
                state.order.append(name)
                state.families[name] = Family(help: help, kind: series.kind)
            }
            precondition(state.families[name]?.kind == series.kind, "\(name) is another kind of metric")
            if replacing { state.families[name]?.series.removeAll { $0.labels == text } }
            state.families[name]?.series.append((text, series))
            return series
        }
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    private static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return String(whole) }
        return value.isNaN ? "NaN" : value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var out = ""
        for c in text {
            switch c {
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\"" where quotes: out += "\\\""
            default: out.append(c)
            }
        }
        return out
    }
}
