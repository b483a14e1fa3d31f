// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelMediaSource
import CarrelProxy

/// Serves a session until a signal, the end of the input, or the player's exit.
struct SessionServing {
    /// The reason why a command ends.
    enum End: Sendable {
        case signal, input
        case player(Int32)
    }

    /// Whether a player is started.
    var plays = false
    /// The player's program; nil for the first known one that is installed.
    var player: String?
    /// Runs while the session is served, until it is cancelled.
    var companion: @Sendable () async -> Void = {}

    private enum Event {
        case checked(Result<SourceSummary, ProxyError>)
        /// The check takes its time.
        case slow
        case ended(End)
    }

    /// The longest time from a signal to the end, in milliseconds: rights services and other servers may not respond.
    private static let endLimit: UInt32 = 1700

    /// How long the address waits for the check of its source.
    private static let patience = Duration.seconds(3)

    /// Checks the source, reports the session, and serves.
    ///
    /// A thread that waits for a signal or for input ends with the process.
    /// - Parameters:
    ///   - session: the session.
    ///   - console: for warnings.
    ///   - stop: ends it.
    ///   - report: called once, before a player is started; gets the facts of the source, or nil if its check is slow.
    /// - Returns: why it ended.
    /// - Throws: ``SourceFailure`` for a source that cannot be played.
    func serve(
        _ session: PlaylistProxy.Session,
        _ console: Console,
        _ stop: StopSignals,
        report: (SourceSummary?) async -> Void
    ) async throws -> End {
        let (events, happened) = AsyncStream<Event>.makeStream()
        Task {
            await stop.wait(endingWithin: Self.endLimit)
            happened.yield(.ended(.signal))
        }
        let checking = Task {
            do throws(ProxyError) {
                happened.yield(.checked(.success(try await session.check())))
            } catch {
                happened.yield(.checked(.failure(error)))
            }
        }
        let timer = Task {
            try await Task.sleep(for: Self.patience)
            happened.yield(.slow)
        }
        var (work, isReported): ([Task<Void, Never>], Bool) = ([], false)
        defer {
            checking.cancel()
            timer.cancel()
        }
        var end = End.signal
        var failure: SourceFailure?
        loop: for await event in events {
            var summary: SourceSummary?
            switch event {
            case .ended(let reason):
                end = reason
                break loop
            case .checked(.failure(let error)):
                // an origin that is away may come back while the player waits
                guard isReported, error.code == .unavailable else {
                    failure = SourceFailure(error)
                    break loop
                }
                console.warning(error.message, hint: SourceFailure(error).hint)
                continue
            case .checked(.success(let found)): summary = found
            case .slow: console.note("the source is slow: its check continues")
            }
            timer.cancel()
            for warning in summary?.warnings ?? [] { console.warning(warning) }
            guard !isReported else { continue }
            isReported = true
            await report(summary)
            work.append(Task { [companion] in await companion() })
            if plays {
                let player = LocalPlayer(named: player)
                work.append(Task { happened.yield(.ended(.player(await player.play(session.url, page: session.pageURL)))) })
            } else if LocalPlayer.inputIsPipe {
                Task {
                    await LocalPlayer.waitForEndOfInput()
                    happened.yield(.ended(.input))
                }
            }
        }
        for task in work { task.cancel() }
        for task in work { await task.value }
        if let failure { throw failure }
        return end
    }
}

/// A player that ended with an error.
struct PlayerFailure: ReportableError {
    let status: Int32
    let program: String?

    var message: String {
        guard status == 127 else { return "the player ended with status \(status)" }
        return program.map { "there is no player '\($0)'" } ?? "there is no player"
    }
    var hint: String? {
        guard status == 127 else { return nil }
        return program == nil
            ? "install mpv, or name a player with --player" : "name mpv, ffplay, vlc or chromium, where it is installed"
    }
    var exitStatus: ExitStatus { status == 127 && program != nil ? .usage : .failure }
}

extension MediaSourceType {
    /// The kind of a source, as `--json` has it.
    var name: String {
        switch self {
        case .singleFile: "file"
        case .hls: "hls"
        case .dash: "dash"
        }
    }
}
