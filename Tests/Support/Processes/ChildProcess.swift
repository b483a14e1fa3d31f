// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelThreads
import Glibc

/// A running child with its pipes, served by one thread until it has ended and its output is read.
///
/// The child leads a session of its own. Whatever is left of its process group when it ends, or when this process ends, is
/// killed.
final class ChildProcess: Sendable {
    /// The known state of the child.
    struct Progress: Sendable {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        /// Bytes were dropped because a stream passed the limit.
        var overflowed = false
        var status: ExitStatus?
    }

    private struct Waiter: Sendable {
        var deadline: ContinuousClock.Instant
        var check: @Sendable (Progress) -> Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State: Sendable {
        var progress = Progress()
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    let name: String
    let pid: Int32
    /// Bytes kept of each stream; what is older goes when `keepsTail`, what is newer goes otherwise.
    let limit: Int
    let keepsTail: Bool
    private let state = Locked(State())
    private let wake: Int32

    init(
        _ arguments: [String],
        environment: [String: String]?,
        directory: String?,
        input: [UInt8],
        limit: Int,
        keepsTail: Bool
    ) throws(ProcessError) {
        name = arguments.first ?? ""
        self.limit = limit
        self.keepsTail = keepsTail
        let pipes = try Pipes(name: name)
        defer { pipes.closeChildEnds() }
        do throws(ProcessError) {
            pid = try spawn(arguments, environment: environment, directory: directory, standard: pipes.childEnds)
        } catch {
            pipes.closeOurEnds()
            throw error
        }
        wake = clinux_eventfd()
        ProcessWatchdog.shared.add(group: pid)
        startThread(name: "child \(pid)") { [self] in serve(pipes, input: input) }
    }

    deinit {
        close(wake)
    }

    var progress: Progress { state.withLock { $0.progress } }

    /// Sends `signal` to the child and everything in its group, unless it has been reaped.
    func signal(_ signal: Int32) {
        state.withLock { state in
            if state.progress.status == nil { Glibc.kill(-pid, signal) }
        }
    }

    /// Suspends until `check` holds; false if it does not within `timeout`, the child has ended, or the task is cancelled.
    func wait(_ timeout: Duration, until check: @escaping @Sendable (Progress) -> Bool) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let answer: Bool? = state.withLock { state in
                    if check(state.progress) { return true }
                    if state.progress.status != nil || Task.isCancelled { return false }
                    state.waiters[id] = Waiter(
                        deadline: .now + timeout,
                        check: check,
                        continuation: continuation
                    )
                    return nil
                }
                if let answer { continuation.resume(returning: answer) } else { clinux_eventfd_signal(wake) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(returning: false)
        }
    }

    // MARK: - the thread

    private func serve(_ pipes: Pipes, input: [UInt8]) {
        blockSIGPIPE()
        let ended = clinux_pidfd(pid)
        var input = input[...]
        if input.isEmpty { pipes.closeInput() }
        var running = true
        var drainUntil: ContinuousClock.Instant?
        while running || pipes.isOpen {
            var polled = [
                pollfd(fd: pipes.output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pipes.errors, events: Int16(POLLIN), revents: 0),
                pollfd(fd: running ? ended : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pipes.input, events: Int16(POLLOUT), revents: 0),
            ]
            let ready = unsafe poll(&polled, nfds_t(polled.count), pollTimeout(drainUntil))
            // what is written already is read, however late this thread comes to it; nothing is waited for without end
            if let drainUntil, drainUntil <= .now, ready == 0 || drainUntil + .seconds(10) <= .now { break }
            if polled[0].revents != 0 { receive(pipes.readOutput(), \.output) }
            if polled[1].revents != 0 { receive(pipes.readErrors(), \.errors) }
            if polled[3].revents != 0 { clinux_eventfd_clear(wake) }
            if polled[4].revents != 0 { pipes.writeInput(&input) }
            if running, polled[2].revents != 0 {
                running = false
                // the leader is a zombie still, so the group's number is its own
                Glibc.kill(-pid, SIGKILL)
                drainUntil = .now + .seconds(1)
                pipes.closeInput()
            }
            answer(ended: nil)
        }
        close(ended)
        pipes.closeOurEnds()
        clinux_wait_unreaped(pid)
        let code = state.withLock { state in
            let code = clinux_reap(pid)
            state.progress.status = ExitStatus(code: code)
            return code
        }
        ProcessWatchdog.shared.remove(group: pid)
        answer(ended: ExitStatus(code: code))
    }

    private func receive(_ bytes: [UInt8], _ stream: WritableKeyPath<Progress, [UInt8]>) {
        guard !bytes.isEmpty else { return }
        state.withLock { state in
            state.progress[keyPath: stream] += bytes
            let surplus = state.progress[keyPath: stream].count - limit
            guard surplus > 0 else { return }
            state.progress.overflowed = true
            if keepsTail {
                state.progress[keyPath: stream].removeFirst(surplus)
            } else {
                state.progress[keyPath: stream].removeLast(surplus)
            }
        }
    }

    private func pollTimeout(_ drainUntil: ContinuousClock.Instant?) -> Int32 {
        var deadlines = state.withLock { state in state.waiters.values.map(\.deadline) }
        if let drainUntil { deadlines.append(drainUntil) }
        guard let first = deadlines.min() else { return -1 }
        let left = ContinuousClock.now.duration(to: first) / .milliseconds(1)
        return Int32(max(0, min(left.rounded(.up), 1e6)))
    }

    /// Resumes those whose condition holds or whose time is up; all of them once the child has ended.
    private func answer(ended: ExitStatus?) {
        let now = ContinuousClock.now
        let answered: [(Waiter, Bool)] = state.withLock { state in
            var answered: [(Waiter, Bool)] = []
            for (id, waiter) in state.waiters {
                let holds = waiter.check(state.progress)
                guard holds || ended != nil || waiter.deadline <= now else { continue }
                answered.append((waiter, holds))
                state.waiters[id] = nil
            }
            return answered
        }
        for (waiter, holds) in answered { waiter.continuation.resume(returning: holds) }
    }
}
