// SPDX-License-Identifier: Apache-2.0

import CCurl
import CarrelThreads
import Glibc

/// The one thread on which all transfers of a client happen.
@safe
final class CurlLoop: @unchecked Sendable {  // `multi` is the thread's alone, but for wakeups under the lock while it is open
    private enum Command: Sendable {
        case add(Transfer)
        case cancel(Transfer)
        case resume(Transfer)
    }

    private struct Inbox: Sendable {
        var commands: [Command] = []
        var isClosed = false
    }

    private let inbox = Locked(Inbox())
    private let multi: UnsafeMutableRawPointer
    private let spare = Locked<[EasyHandle]>([])
    private var active: [ObjectIdentifier: Transfer] = [:]
    private var news: [Transfer] = []
    /// Transfers that wait for their bandwidth limits, in the order in which they began to wait.
    private var deferred: [(transfer: Transfer, until: ContinuousClock.Instant)] = []

    /// - Throws: `client.failed` if the system has no memory or no thread for it.
    init(maxConnectionsPerHost: Int, maxConnections: Int, threads: ThreadStarter) throws(HTTPClientError) {
        guard EasyHandle.initialized, let multi = unsafe curl_multi_init() else {
            throw HTTPClientError(.failed, "libcurl cannot be initialized")
        }
        unsafe self.multi = unsafe multi
        unsafe ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, maxConnectionsPerHost)
        unsafe ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, maxConnections)
        unsafe ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, maxConnections)
        do throws(ThreadRefused) { try threads.start(name: "http client") { [self] in run() } } catch {
            unsafe curl_multi_cleanup(multi)
            throw HTTPClientError(.failed, error.description)
        }
    }

    // MARK: - from any thread

    func easyHandle() -> EasyHandle? {
        spare.withLock { $0.popLast() } ?? EasyHandle()
    }

    func add(_ transfer: Transfer) {
        if !send(.add(transfer)) { transfer.finish(.failure(HTTPClientError(.cancelled, "the client is closed"))) }
    }

    /// Ends the transfer, wherever it is.
    func cancel(_ transfer: Transfer) {
        send(.cancel(transfer))
    }

    /// Resumes a transfer that waited for its consumer or for its body.
    func resume(_ transfer: Transfer) {
        send(.resume(transfer))
    }

    /// Ends the thread, and every transfer.
    func close() {
        inbox.withLock { inbox in
            inbox.isClosed = true
            unsafe curl_multi_wakeup(multi)
        }
    }

    @discardableResult
    private func send(_ command: Command) -> Bool {
        inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            if inbox.commands.isEmpty { unsafe curl_multi_wakeup(multi) }
            inbox.commands.append(command)
            return true
        }
    }

    // MARK: - on the thread

    private func run() {
        blockSIGPIPE()
        while true {
            let (commands, isClosed) = inbox.withLock { inbox in
                defer { inbox.commands.removeAll(keepingCapacity: true) }
                return (inbox.commands, inbox.isClosed)
            }
            for command in commands { perform(command) }
            if isClosed { break }
            resumeDeferred()
            var running: Int32 = 0
            unsafe curl_multi_perform(multi, &running)
            while let transfer = news.popLast() { transfer.wake() }
            finishDone()
            unsafe curl_multi_poll(multi, nil, 0, patience, nil)
        }
        for transfer in active.values { end(transfer, .failure(HTTPClientError(.cancelled, "the client was closed"))) }
        // no other thread wakes it up any more: isClosed was seen under the lock
        unsafe curl_multi_cleanup(multi)
    }

    /// Milliseconds to wait for events.
    private var patience: Int32 {
        guard let next = deferred.lazy.map(\.until).min() else { return 60_000 }
        return Int32(min(60_000, max(0, (ContinuousClock.now.duration(to: next) / .milliseconds(1)).rounded(.up))))
    }

    /// Resumes a paused transfer after a while, when its bandwidth limits may allow more.
    func postpone(_ transfer: Transfer, by pause: Duration) {
        // its consumer may have resumed it meanwhile
        guard !deferred.contains(where: { $0.transfer === transfer }) else { return }
        deferred.append((transfer, ContinuousClock.now + pause))
    }

    /// Resumes the transfers whose time has come; those that may still not receive are deferred again, at the end.
    private func resumeDeferred() {
        guard !deferred.isEmpty else { return }
        let now = ContinuousClock.now
        let due = deferred.filter { $0.until <= now }
        guard !due.isEmpty else { return }
        deferred.removeAll { $0.until <= now }
        for (transfer, _) in due { perform(.resume(transfer)) }
    }

    /// Wakes the transfer's task once, after all pending events.
    func add(news transfer: Transfer) {
        news.append(transfer)
    }

    private func perform(_ command: Command) {
        switch command {
        case .add(let transfer):
            active[ObjectIdentifier(transfer)] = transfer
            add(toMulti: transfer)
        case .cancel(let transfer):
            guard active[ObjectIdentifier(transfer)] != nil else { return }
            end(transfer, .failure(HTTPClientError(.cancelled, "the request was cancelled")))
        case .resume(let transfer):
            guard active[ObjectIdentifier(transfer)] != nil else { return }
            unsafe curl_easy_pause(transfer.easy.raw, CURLPAUSE_CONT)
        }
    }

    private func add(toMulti transfer: Transfer) {
        let result = unsafe curl_multi_add_handle(multi, transfer.easy.raw)
        if result != CURLM_OK { end(transfer, .failure(HTTPClientError(.failed, "libcurl cannot take another request"))) }
    }

    private func finishDone() {
        var result = CURLE_OK
        while let easy = unsafe ccurl_multi_next_done(multi, &result) {
            guard let context = unsafe ccurl_get_private(easy) else { continue }
            let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            if transfer.retries(after: result) {
                unsafe curl_multi_remove_handle(multi, easy)
                add(toMulti: transfer)
                continue
            }
            end(transfer, transfer.outcome(of: result))
        }
    }

    private func end(_ transfer: Transfer, _ outcome: Result<Void, HTTPClientError>) {
        unsafe curl_multi_remove_handle(multi, transfer.easy.raw)
        active[ObjectIdentifier(transfer)] = nil
        transfer.finish(outcome)
        guard case .success = outcome else { return }
        let easy = transfer.easy
        easy.reset()
        spare.withLock { if $0.count < 64 { $0.append(easy) } }
    }
}

/// A write to a connection or pipe without a reader then returns `EPIPE` in this thread.
private func blockSIGPIPE() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
