// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelPlayer
import CarrelReader
import CarrelThreads

/// Prints traces, one a line: the milliseconds since the previous event, the time, the channel, the event and its fields.
///
/// ```
///     12 ms  18:40:07.312  key-delivery  response received  status=200
/// ```
struct TracePrinter: Sendable {
    private let console: Console
    private let last = Locked<Instant?>(nil)

    init(_ console: Console) { self.console = console }

    /// Takes events of any part of the SDK.
    var listener: @Sendable (Trace) -> Void { { (trace: Trace) in print(trace) } }

    /// Prints an event of any part of the SDK.
    func print(_ trace: Trace) {
        write(at: trace.time, "\(trace.channel)", trace.message, trace.fields.map { ($0.name, "\($0)") })
    }

    /// Prints a step of a player's own.
    func print(_ transaction: PlayerTransaction) {
        let (text, fields): (String, [(String, String)]) =
            switch transaction {
            case .began(let kind): ("\(kind.rawValue) begun", [])
            case .progress(let kind, let step, let done, let total):
                ("\(kind.rawValue): \(step)", [("step", "step=\(done)/\(total)")])
            case .call(let method, let url, let status, let duration):
                (
                    "request",
                    [
                        ("method", "method=\(method)"), ("url", "url=\(url)"),
                        ("status", "status=\(status.map(String.init) ?? "none")"),
                        ("duration", "duration=\(Int64((duration / .milliseconds(1)).rounded()))ms"),
                    ]
                )
            case .ended(let kind, nil): ("\(kind.rawValue) done", [])
            case .ended(let kind, let error?): ("\(kind.rawValue) failed", [("error", "error=\(error.code)")])
            }
        write(at: .now(), "key-delivery", text, fields)
    }

    private func write(at time: Instant, _ channel: String, _ message: String, _ fields: [(name: String, text: String)]) {
        let passed = last.withLock { last in
            defer { last = time }
            return last.map { max(0, time.milliseconds - $0.milliseconds) } ?? 0
        }
        let isFailure = fields.contains { $0.name == "error" }
        let width = max(0, 6 - "\(passed)".count)
        var parts: [(text: String, style: Terminal.Style?)] = [
            (String(repeating: " ", count: width) + "\(passed) ms ", .faint), (Self.clock(time) + " ", .faint),
            (channel.padding(to: 12) + " ", Self.style(of: channel)), (message, isFailure ? .red : .bold),
        ]
        parts += fields.map { ($0.text, $0.name == "error" ? .red : .faint) }
        console.note(parts)
    }

    /// The time of the day in UTC, to the millisecond.
    private static func clock(_ time: Instant) -> String {
        let text = time.description
        return text.firstIndex(of: "T").map { String(text[text.index(after: $0)...]) } ?? text
    }

    private static func style(of channel: String) -> Terminal.Style {
        switch channel {
        case "key-delivery": .magenta
        case "playback": .green
        case "download": .blue
        default: .cyan
        }
    }
}

extension String {
    /// The text with spaces up to a length.
    fileprivate func padding(to length: Int) -> String { self + String(repeating: " ", count: max(0, length - count)) }
}
