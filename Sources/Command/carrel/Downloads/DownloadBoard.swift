// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads
import CarrelJSON

/// The bars of downloads that are transferred, one for each, by whatever process.
struct DownloadBoard: Sendable {
    private let console: Console
    private let downloads: Downloads
    /// The ids to show; nil for all.
    private let ids: Set<String>?

    /// - Parameters:
    ///   - console: shows the bars.
    ///   - downloads: the queue.
    ///   - ids: the ids to show; nil for all that are transferred.
    init(_ console: Console, _ downloads: Downloads, _ ids: Set<String>? = nil) {
        self.console = console
        self.downloads = downloads
        self.ids = ids
    }

    /// Draws until the task is cancelled, and then removes the bars.
    func run() async {
        guard !console.options.quiet, !console.options.json else { return }
        var bars: [String: ProgressBar] = [:]
        while !Task.isCancelled {
            let items = ((try? await downloads.items()) ?? []).filter { ids?.contains($0.id) ?? true }
            for item in items where !item.state.isFinal {
                // a queue of hundreds has bars for what runs alone
                guard ids != nil || item.state != .queued else { continue }
                let total = item.total > 0 ? item.total : nil
                let bar = bars[item.id] ?? console.progress(item.title, totalBytes: total)
                bars[item.id] = bar
                bar.update(item.done, of: total, Self.label(item))
            }
            let shown = Set(items.filter { !$0.state.isFinal }.map(\.id))
            for (id, bar) in bars where !shown.contains(id) {
                bar.finish()
                bars[id] = nil
            }
            do { try await Task.sleep(for: .milliseconds(250)) } catch { break }
        }
        for bar in bars.values { bar.finish() }
    }

    private static func label(_ item: DownloadItem) -> String {
        item.state == .downloading ? item.title : "\(item.title) (\(words(item)))"
    }

    /// The state of an item in words.
    static func words(_ item: DownloadItem) -> String {
        switch item.state {
        case .waiting:
            switch item.reason.flatMap({ DownloadRequirements.Reason(rawValue: $0) }) {
            case .network: "waiting for a network"
            case .unmeteredNetwork: "waiting for an unmetered network"
            case .charging: "waiting for external power"
            case .freeSpace: "waiting for free space"
            case nil: "waiting"
            }
        case .fetchingKeys: "fetching keys"
        default: item.state.rawValue
        }
    }

    /// A line for an item that ended, or that is listed.
    static func line(_ item: DownloadItem) -> String {
        var parts = ["\(item.id)  \(words(item))"]
        if item.done > 0 { parts.append(ByteCount(item.done).rounded) }
        if let until = item.until { parts.append("until \(until)") }
        return "\(parts.joined(separator: ", ")): \(item.title)"
    }
}

extension Console {
    /// Prints an object on one line, so that scripts read several of them one by one.
    func printLine(_ object: JSON) { print(String(decoding: object.write(), as: UTF8.self)) }
}
