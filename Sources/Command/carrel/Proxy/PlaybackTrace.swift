// SPDX-License-Identifier: Apache-2.0

import CarrelProxy
import CarrelThreads

/// Prints the events of a playback, with `--trace`.
struct PlaybackTrace: Sendable {
    private let session: PlaylistProxy.Session
    private let printer: TracePrinter?
    private let watch = Locked(PlaybackWatch())

    init(_ session: PlaylistProxy.Session, _ printer: TracePrinter?, isOffline: Bool) {
        self.session = session
        self.printer = printer
        guard let printer else { return }
        // start counting here
        _ = session.progress()
        printer.print(watch.withLock { $0.initiated(isOffline: isOffline) })
    }

    /// Prints until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let progress = session.progress()
            for event in watch.withLock({ $0.events(progress) }) { printer?.print(event) }
            do { try await Task.sleep(for: .milliseconds(250)) } catch { break }
        }
    }

    /// Prints the last events.
    ///
    /// - Parameter isWhole: whether the player ended by itself and without an error.
    func end(isWhole: Bool) {
        guard let printer else { return }
        let progress = session.progress()
        for event in watch.withLock({ $0.events(progress) + $0.ended(progress, isWhole: isWhole) }) { printer.print(event) }
    }
}
