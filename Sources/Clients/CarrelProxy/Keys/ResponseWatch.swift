// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource

/// Ends the responses of a session when one of their keys ends.
struct ResponseWatch: Sendable {
    private let watch: KeyWatch
    private let clock: any WallClock
    private let report: @Sendable (ProxyError) -> Void
    private let hasEnded: @Sendable () -> Bool

    /// - Parameters:
    ///   - watch: of all sessions.
    ///   - clock: the clock by which keys expire.
    ///   - report: gets the errors of responses that have begun.
    ///   - hasEnded: whether the session has ended.
    init(
        _ watch: KeyWatch,
        _ clock: any WallClock,
        report: @escaping @Sendable (ProxyError) -> Void,
        hasEnded: @escaping @Sendable () -> Bool
    ) {
        self.watch = watch
        self.clock = clock
        self.report = report
        self.hasEnded = hasEnded
    }

    /// Opens a response within the life of its keys: a key that expires first gives an error status, however long the origin
    /// takes.
    ///
    /// - Parameters:
    ///   - use: the keys of the response.
    ///   - open: opens it.
    /// - Returns: the result of `open`.
    /// - Throws: `proxy.expired-key`; the error of `open`.
    func open<Result: Sendable>(
        _ use: KeyUse,
        _ open: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await open() }
        let watching = watch.add(use, clock) { _ in task.cancel() }
        defer { watch.remove(watching) }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            if !Task.isCancelled { try use.check(at: clock.now) }
            throw error
        }
    }

    /// Sends the body of a response, and aborts it when a key expires, even if the player or the origin stalls.
    fileprivate func send(_ use: KeyUse, cut: @escaping @Sendable () -> Void, _ body: () async throws -> Void) async throws {
        let watching = watch.add(use, clock) { [report] error in
            report(error)
            cut()
        }
        do {
            try await body()
        } catch {
            // one that was cut has been reported
            let isWatched = watch.remove(watching)
            if isWatched, !Task.isCancelled, !hasEnded(), let error = error as? ProxyError { report(use.explained(error)) }
            throw error
        }
        watch.remove(watching)
    }
}

/// The body of a response, which is cut when a key of it ends.
struct WatchedBody: Sendable {
    let watch: ResponseWatch
    /// The keys of the response.
    let use: KeyUse
    /// Closes the connection.
    let cut: @Sendable () -> Void

    /// Sends the body, or a part of it.
    func send(_ body: () async throws -> Void) async throws { try await watch.send(use, cut: cut, body) }
}
