// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads

struct DownloadAdd: Command {
    var sources: [String] = []
    var title: String?
    var queues = false
    var source = SourceOptions()
    var save = SaveOptions()
    var queue = DownloadQueueOptions()

    static let name = "add"
    static let abstract = "Save streams for playing without a network."
    static let discussion = """
        A source is an address of HLS, DASH or a media file, a file, or a title in the list of --streams. The keys of a protected stream are \
        stored first, sealed by this device's vault; then its media are saved. A source that was added before is the existing \
        download. The command ends when its downloads have ended; after Ctrl-C, 'carrel download run' continues them. \
        Live streams and MS3 addresses are refused.
        """
    static let examples = [
        Example("carrel download add https://example.org/film.m3u8", "Saves a film."),
        Example("carrel download add 'Big Film' --streams Streams.json", "Saves an entry of a list."),
        Example("carrel download add film.mpd --audio de --subtitles de --bitrate 2000000", "Saves the German tracks."),
        Example(
            "carrel download add https://example.org/film.m3u8 --queue --network unmetered",
            "Adds a film to the queue alone."
        ),
    ]
    static let parameters: [Parameter<Self>] =
        [
            .positional(\.sources, "source", help: "An address, a file, or a title in the list of --streams.", required: true),
            .option(\.title, "--title", value: "text", help: "The title; default: the list's, or the last part of the address."),
            .flag(\.queues, "--queue", help: "Add it to the queue alone; 'carrel download run' saves it."),
        ] + Parameter.group(\.source) + Parameter.group(\.save) + Parameter.group(\.queue)

    var output: OutputOptions { queue.output }

    func validate() throws(UsageError) {
        guard title == nil || sources.count == 1 else { throw UsageError(.contradiction, "--title is for one source") }
        _ = try save.settings()
    }

    func run(_ console: Console) async throws {
        let resolver = try source.read()
        let chosen = try sources.map { try resolver.source($0, title: title ?? "") }
        let settings = try save.settings()
        let stop = StopSignals()
        try await queue.use(console) { downloads, trace in
            var ids: [String] = []
            for source in chosen {
                let (item, isNew) = try await downloads.add(source, settings)
                if !isNew { console.note("\(item.title) was added before: it is download \(item.id)") }
                if !ids.contains(item.id) { ids.append(item.id) }
            }
            if queues {
                for id in ids { report(try await downloads.item(id), console) }
                return
            }
            let transfer = DownloadTransfer(downloads, console, stop, trace)
            try await transfer.run(until: ids) { item in report(item, console) }
        }
    }

    private func report(_ item: DownloadItem, _ console: Console) {
        if queue.json { console.printLine(item.json) } else { console.print(DownloadBoard.line(item)) }
    }
}
