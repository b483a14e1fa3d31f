// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelDownloads

/// Transfers downloads until they have ended, or until the command is interrupted.
struct DownloadTransfer {
    private let downloads: Downloads
    private let console: Console
    private let stop: StopSignals
    private let trace: TracePrinter?

    init(_ downloads: Downloads, _ console: Console, _ stop: StopSignals, _ trace: TracePrinter?) {
        self.downloads = downloads
        self.console = console
        self.stop = stop
        self.trace = trace
    }

    /// How a transfer ended.
    private enum End: Sendable {
        case done, interrupted
        case failed(any Error)
    }

    /// Transfers, with a bar for each download.
    ///
    /// - Parameters:
    ///   - ids: the downloads to wait for; nil until nothing is left.
    ///   - report: gets each of them when it has ended, in the order of `ids`; also the unfinished ones after a signal.
    /// - Throws: ``FailedDownload`` for the first that failed, ``StoppedDownload`` for one that was paused or removed elsewhere;
    ///   `CancellationError` after a signal.
    func run(until ids: [String]?, report: (DownloadItem) -> Void) async throws {
        let before = try await downloads.items()
        let board = DownloadBoard(console, downloads, ids.map(Set.init))
        // the lines of a trace would chase the bars
        let events = trace.map { DownloadTrace(downloads, $0) }
        let showing = Task { if let events { await events.run() } else { await board.run() } }
        let end = await transfer(ids)
        showing.cancel()
        await showing.value
        let items = try await downloads.items()
        // without ids, all that were not over before
        let ended = ids ?? before.filter { !$0.state.isFinal }.map(\.id)
        var failure: (any Error)?
        for id in ended {
            guard let item = items.first(where: { $0.id == id }) else {
                let title = before.first { $0.id == id }?.title ?? id
                failure = failure ?? StoppedDownload(title: title, state: "removed")
                continue
            }
            report(item)
            switch item.state {
            case .failed: failure = failure ?? FailedDownload(item: item)
            case .paused: failure = failure ?? StoppedDownload(title: item.title, state: "paused")
            default: break
            }
        }
        switch end {
        case .failed(let error): throw error
        case .interrupted:
            let left = items.count { !$0.state.isFinal }
            if left > 0 { console.note("\(left) of the downloads are not complete: 'carrel download run' continues them") }
            throw CancellationError()
        case .done: if let failure { throw failure }
        }
    }

    private func transfer(_ ids: [String]?) async -> End {
        let (ends, continuation) = AsyncStream<End>.makeStream()
        let work = Task { [downloads] in
            do {
                for id in ids ?? [] { try await downloads.run(until: id) }
                if ids == nil { try await downloads.run() }
                continuation.yield(.done)
            } catch is CancellationError {
                continuation.yield(.interrupted)
            } catch {
                continuation.yield(.failed(error))
            }
        }
        // a thread that waits for a signal ends with the process
        Task { [stop] in
            await stop.wait()
            work.cancel()
            continuation.yield(.interrupted)
        }
        var iterator = ends.makeAsyncIterator()
        let end = await iterator.next() ?? .interrupted
        // what was being written is finished or dropped
        await work.value
        return end
    }
}
