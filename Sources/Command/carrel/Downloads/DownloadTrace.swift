// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDownloads
import CarrelReader

/// Prints the events of transfers, with `--trace`: what is being saved, and how far it has come.
struct DownloadTrace: Sendable {
    private static let channel = Trace.Channel("download")

    private let events: AsyncStream<DownloadEvent>
    private let printer: TracePrinter

    /// Events are kept from now on.
    init(_ downloads: Downloads, _ printer: TracePrinter) {
        events = downloads.events()
        self.printer = printer
    }

    /// A selection of an item.
    private struct Part: Hashable {
        let id: String
        let selection: DownloadEvent.Selection
    }

    /// Prints until the task is cancelled. Progress is printed in steps of ten percent.
    func run() async {
        var tenths: [Part: Int] = [:]
        for await event in events {
            switch event {
            case .located(let id, _): write("location known", id)
            case .changed(let item):
                write("state changed", item.id, [.init("state", .name(item.state.rawValue))] + Self.reason(item))
            case .progress(let item, let selection, let loaded, let expected):
                let part = Part(id: item.id, selection: selection)
                if tenths[part] == nil {
                    write(
                        "selection being downloaded",
                        item.id,
                        Self.fields(selection) + [.init("expected", .duration(expected))]
                    )
                }
                let tenth = expected > .zero ? Int(loaded / expected * 10) : 0
                guard tenth > tenths[part] ?? 0 || tenths[part] == nil else { continue }
                tenths[part] = tenth
                write("progress", item.id, Self.fields(selection) + [.init("percent", .number(tenth * 10))])
            case .selectionFinished(let id, let selection): write("selection finished", id, Self.fields(selection))
            case .finished(let item): write("download finished", item.id, [.init("bytes", .number(item.done))])
            case .failed(let item, let error): write("download failed", item.id, [.init("error", .code(of: error))])
            }
        }
    }

    private func write(_ message: StaticString, _ id: String, _ fields: [Trace.Field] = []) {
        // an id is public, and longer than names that are shown whole
        printer.print(Trace(Self.channel, .now(), message, [.init("item", .name(String(id.prefix(12))))] + fields))
    }

    private static func reason(_ item: DownloadItem) -> [Trace.Field] {
        item.reason.map { [.init("reason", .name($0))] } ?? []
    }

    private static func fields(_ selection: DownloadEvent.Selection) -> [Trace.Field] {
        var fields: [Trace.Field] = [.init("selection", .number(selection.index)), .init("kind", .name(selection.kind))]
        if !selection.label.isEmpty { fields.append(.init("label", .name(selection.label))) }
        return fields
    }
}
