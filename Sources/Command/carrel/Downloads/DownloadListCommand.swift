// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelDownloads
import CarrelJSON

struct DownloadList: Command {
    var options = DownloadFolderOptions()

    static let name = "list"
    static let abstract = "List downloads, those that start first at the beginning."
    static let discussion = "The vault stays closed."
    static let parameters: [Parameter<Self>] = Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }

    func run(_ console: Console) async throws {
        var items: [DownloadItem] = []
        if let downloads = try options.open() {
            items = try await DownloadFolderOptions.use(downloads) { try await $0.items() }
        }
        if output.json { return console.printLine(["downloads": .array(items.map(\.json))]) }
        guard !items.isEmpty else { return console.note("there are no downloads in \(try options.folder.path())") }
        var table = TextTable([
            "id", "state", .init("saved", isNumeric: true), .init("of", isNumeric: true), "until",
            .init("title", canShrink: true),
        ])
        for item in items {
            table.add([
                item.id, item.state == .failed ? "failed (\(item.reason ?? ""))" : DownloadBoard.words(item),
                ByteCount(item.done).rounded, item.total > 0 ? ByteCount(item.total).rounded : "", item.until?.description ?? "",
                item.title,
            ])
        }
        console.print(table)
    }
}

struct DownloadShow: Command {
    var options = DownloadFolderOptions()
    var name = ""

    static let name = "show"
    static let abstract = "Show a download and its files."
    static let discussion =
        "The vault stays closed, so the files are listed and not opened: titles, addresses and tokens are not in them."
    static let parameters: [Parameter<Self>] =
        [.positional(\.name, "id", help: "The id of a download, the beginning of one, or its title.")]
        + Parameter.group(\.options)

    var output: OutputOptions { options.folder.output }

    func run(_ console: Console) async throws {
        try await options.use { downloads in
            let item = try DownloadNames.find(name, in: try await downloads.items())
            let listing = try await PackageListing.read(downloads.packageFolder(of: item.id))
            if output.json {
                var object = item.json.object ?? JSONObject()
                object["message"] = item.message.map { .string($0) } ?? .null
                object["priority"] = .integer(item.priority)
                object["pinned"] = .bool(item.isPinned)
                object["added"] = .string(item.addedAt.description)
                object["folder"] = .string(downloads.packageFolder(of: item.id))
                object["package"] = listing?.json ?? .null
                return console.printLine(.object(object))
            }
            var facts = [("id", item.id), ("title", item.title), ("state", DownloadBoard.words(item))]
            if let reason = item.reason { facts.append(("reason", reason)) }
            if let message = item.message { facts.append(("message", message)) }
            facts.append(("saved", ByteCount(item.done).rounded))
            if item.total > 0 { facts.append(("of", ByteCount(item.total).rounded)) }
            if let until = item.until { facts.append(("until", "\(until)")) }
            facts += [
                ("priority", "\(item.priority)"), ("pinned", item.isPinned ? "yes" : "no"), ("added", "\(item.addedAt)"),
                ("folder", downloads.packageFolder(of: item.id)),
            ]
            for (name, value) in facts { console.print("\(name.padding(10))\(value.printable)") }
            if let listing { console.print(listing.table) }
        }
    }
}

extension String {
    /// The text with spaces up to a length.
    fileprivate func padding(_ length: Int) -> String { self + String(repeating: " ", count: max(0, length - count)) }
}
