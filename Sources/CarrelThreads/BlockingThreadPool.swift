import CLinux
import Glibc

/// Threads for calls that block (SQLite, libpq, cold reads), so that the cooperative pool never does.
///
/// Work waits in one bounded queue and starts in order. The threads end when the value is released and the queue is empty.
package final class BlockingThreadPool: Sendable {
    private let queue: WorkQueue

    /// - Parameters:
    ///   - name: shown by `ps -T`, where the kernel keeps 15 characters, and in ``counts()``.
    ///   - count: threads, at least one.
    ///   - limit: work that waits at most; more is refused with ``QueueFull``.
    package init(name: String, count: Int, limit: Int = 4096) {
        let queue = WorkQueue(name: name, limit: limit)
        self.queue = queue
        for _ in 0..<max(1, count) {
            startThread(name: name) { queue.work() }
        }
        QueueCounts.add(queue)
    }

    deinit {
        queue.close()
    }

    /// Work that no thread has taken yet.
    package var waiting: Int { queue.counts.waiting }

    /// Starts `work` on one of the threads; returns immediately.
    package func start(_ work: @escaping @Sendable () -> Void) throws(QueueFull) {
        guard queue.add(work) != nil else { throw QueueFull(queue.name) }
    }

    /// Runs `work` on one of the threads and returns what it returns or throws.
    ///
    /// - Throws: ``QueueFull`` when too much waits.
    package func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        // By way of a lock, which the thread sanitizer sees; what orders a continuation and its task it does not always see.
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let place = queue.add {
                let result = Swift.Result(catching: work)
                outcome.withLock { $0 = result }
                unsafe continuation.resume()
            }
            if place == nil {
                outcome.withLock { [queue] in $0 = .failure(QueueFull(queue.name)) }
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
                let place = queue.add {
                    let result = Swift.Result(catching: work)
                    outcome.withLock { $0 = result }
                    unsafe continuation.resume()
                }
                guard let place else {
                    outcome.withLock { [queue] in $0 = .failure(QueueFull(queue.name)) }
                    unsafe continuation.resume()
                    return
                }
                let isCancelled = wait.withLock { wait in
                    wait.place = place
                    wait.resume = { unsafe continuation.resume() }
                    return wait.isCancelled
                }
                if isCancelled, queue.remove(place) { unsafe continuation.resume() }
            }
        } onCancel: {
            let (place, resume) = wait.withLock { wait in
                wait.isCancelled = true
                return (wait.place, wait.resume)
            }
            if let place, queue.remove(place) { resume?() }
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

/// The state of one task that waits for its work and may be cancelled.
private struct CancellableWait: Sendable {
    var place: Int?
    var resume: (@Sendable () -> Void)?
    var isCancelled = false
}

/// Starts a detached thread that runs `body` and ends.
///
/// - Parameters:
///   - name: shown by `ps -T`; the kernel keeps 15 characters.
///   - body: runs on the new thread.
package func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
    let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    let status = unsafe pthread_create(&thread, nil, threadMain, start.toOpaque())
    precondition(status == 0, "the system refused a thread (\(status))")
    pthread_detach(thread)
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    unsafe clinux_name_thread(String(start.name.prefix(15)))
    start.body()
    return nil
}
