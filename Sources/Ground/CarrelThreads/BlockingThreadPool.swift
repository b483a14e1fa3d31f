// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Threads for calls that block (SQLite, libpq, cold reads), so that the cooperative pool never blocks.
///
/// Work waits in one bounded queue and starts in order. The threads end when the value is released and the queue is empty. A
/// thread that the system refuses is requested again with the next work; until then the others do all work.
package final class BlockingThreadPool: Sendable {
    private let queue: WorkQueue
    private let count: Int
    private let starter: ThreadStarter
    /// Threads that are not started yet, or that the system refused.
    private let missing: Atomic<Int>
    /// Held while threads are started.
    private let starting = Locked(())

    /// - Parameters:
    ///   - name: the name in `ps -T`, cut to 15 characters, and in ``counts()``.
    ///   - count: the number of threads, at least one.
    ///   - limit: the limit of waiting work; more is refused with ``QueueFull``.
    ///   - starter: starts the threads.
    package init(name: String, count: Int, limit: Int = 4096, starter: ThreadStarter = .system) {
        queue = WorkQueue(name: name, limit: limit)
        self.count = max(1, count)
        self.starter = starter
        missing = Atomic(self.count)
        startMissing()
        QueueCounts.add(queue)
    }

    deinit {
        queue.close()
    }

    /// Whether a thread takes work.
    package var hasThread: Bool { missing.load(ordering: .relaxed) < count }

    /// Starts the threads that are still missing, as far as the system lets it.
    ///
    /// - Returns: whether there is a thread.
    @discardableResult
    private func startMissing() -> Bool {
        guard missing.load(ordering: .relaxed) > 0 else { return true }
        // one caller at a time: a thread requested by another caller may still be refused, and work that relies on it would never
        // run
        return starting.withLock { _ in
            while missing.load(ordering: .relaxed) > 0 {
                do throws(ThreadRefused) {
                    try starter.start(name: queue.name) { [queue] in queue.work() }
                } catch {
                    return hasThread
                }
                missing.subtract(1, ordering: .relaxed)
            }
            return true
        }
    }

    /// Adds work at the end of the queue.
    private func add(_ work: @escaping @Sendable () -> Void) throws(QueueFull) -> Int {
        guard startMissing() else {
            queue.countRefusal()
            throw QueueFull(queue.name, hasThread: false)
        }
        guard let jobNumber = queue.add(work) else { throw QueueFull(queue.name) }
        return jobNumber
    }

    /// Work that no thread has taken yet.
    package var waiting: Int { queue.counts.waiting }

    /// Starts `work` on one of the threads; returns immediately.
    ///
    /// - Parameter work: the work.
    /// - Throws: ``QueueFull`` when too much waits, or the system has no thread for the pool.
    package func start(_ work: @escaping @Sendable () -> Void) throws(QueueFull) { _ = try add(work) }

    /// Runs `work` on one of the threads and returns its result or throws its error.
    ///
    /// - Throws: ``QueueFull`` if too much work waits, or the system has no thread for the pool.
    package func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        // By way of a lock, which the thread sanitizer sees; what orders a continuation and its task it does not always see.
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            do throws(QueueFull) {
                try start {
                    let result = Swift.Result(catching: work)
                    outcome.withLock { $0 = result }
                    unsafe continuation.resume()
                }
            } catch {
                outcome.withLock { $0 = .failure(error) }
                unsafe continuation.resume()
            }
        }
        guard let result = outcome.withLock({ $0 }) else { preconditionFailure("the work ended without a result") }
        return try result.get()
    }

    /// Runs `work` like ``run(_:)``, but not if the task is cancelled before the work starts; its place in the queue is then free
    /// immediately.
    ///
    /// - Throws: ``QueueFull`` when too much waits, `CancellationError` when the work was dropped.
    package func runUnlessCancelled<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        let wait = Locked(CancellableWait())
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                let jobNumber: Int
                do throws(QueueFull) {
                    jobNumber = try add {
                        let result = Swift.Result(catching: work)
                        outcome.withLock { $0 = result }
                        unsafe continuation.resume()
                    }
                } catch {
                    outcome.withLock { $0 = .failure(error) }
                    unsafe continuation.resume()
                    return
                }
                let isCancelled = wait.withLock { wait in
                    wait.jobNumber = jobNumber
                    wait.resume = { unsafe continuation.resume() }
                    return wait.isCancelled
                }
                if isCancelled, queue.remove(jobNumber) { unsafe continuation.resume() }
            }
        } onCancel: {
            let (jobNumber, resume) = wait.withLock { wait in
                wait.isCancelled = true
                return (wait.jobNumber, wait.resume)
            }
            if let jobNumber, queue.remove(jobNumber) { resume?() }
        }
        guard let result = outcome.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }

    /// Counts work that its owner refused before it came to this queue.
    package func countRefusal() {
        queue.countRefusal()
    }

    /// The counts of all queues of this process, summed by name and in the order of the names.
    package static func counts() -> [QueueCounts] {
        QueueCounts.all()
    }
}

/// The state of one cancellable task that waits for its work.
private struct CancellableWait: Sendable {
    var jobNumber: Int?
    var resume: (@Sendable () -> Void)?
    var isCancelled = false
}
