// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads
import CarrelJSON

struct DownloadRun: Command {
    var queue = DownloadQueueOptions()

    static let name = "run"
    static let abstract = "Save what is in the queue, until nothing is left."
    static let discussion = """
        Continues what an interrupted command left, and saves what other commands add meanwhile; what is on the disk is not fetched again. Of \
        several processes, one transfers at a time, and the next takes over when it ends. Paused and failed downloads stay: \
        'carrel download resume' puts them into the queue again.
        """
    static let examples = [Example("carrel download run", "Saves the queue, with a bar for each download.")]
    static let parameters: [Parameter<Self>] = Parameter.group(\.queue)

    var output: OutputOptions { queue.output }

    func run(_ console: Console) async throws {
        let stop = StopSignals()
        try await queue.use(console) { downloads, trace in
            var ended: [JSON] = []
            let json = queue.json
            defer { if json { console.printLine(["downloads": .array(ended)]) } }
            try await DownloadTransfer(downloads, console, stop, trace).run(until: nil) { item in
                if json { ended.append(item.json) } else { console.print(DownloadBoard.line(item)) }
            }
        }
    }
}
