import CLinux
import Glibc

/// Threads for calls that block (SQLite, libpq, cold reads), so that the cooperative pool never does.
///
/// Work waits in one queue and starts in order. The threads end when the value is released and the queue is empty.
public final class BlockingThreads: Sendable {
    private let queue: WorkQueue

    /// - Parameters:
    ///   - name: shown by `ps -T`; the kernel keeps 15 characters.
    ///   - count: threads, at least one.
    public init(name: String, count: Int) {
        let queue = WorkQueue()
        self.queue = queue
        for _ in 0..<max(1, count) {
            startThread(name: name) { queue.work() }
        }
    }

    deinit {
        queue.close()
    }

    /// Starts `work` on one of the threads; returns at once.
    public func start(_ work: @escaping @Sendable () -> Void) {
        queue.add(work)
    }

    /// Runs `work` on one of the threads and returns what it returns or throws.
    public func run<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        // By way of a lock, which the thread sanitizer sees; what orders a continuation and its task it does not always see.
        let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
        unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            queue.add {
                let result = Swift.Result(catching: work)
                outcome.withLock { $0 = result }
                unsafe continuation.resume()
            }
        }
        guard let result = outcome.withLock({ $0 }) else { preconditionFailure("the work ended without a result") }
        return try result.get()
    }
}

/// Starts a detached thread that runs `body` and ends.
///
/// - Parameters:
///   - name: shown by `ps -T`; the kernel keeps 15 characters.
///   - body: runs on the new thread.
public func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
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

@safe
private final class WorkQueue: @unchecked Sendable {  // every access to the stored values holds `mutex`
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// What waits, from `next` on; before it are the empty places of what was taken.
    private var waiting: [(@Sendable () -> Void)?] = []
    private var next = 0
    private var closed = false

    init() {
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe changed.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
    }

    func add(_ work: @escaping @Sendable () -> Void) {
        unsafe pthread_mutex_lock(mutex)
        waiting.append(work)
        unsafe pthread_cond_signal(changed)
        unsafe pthread_mutex_unlock(mutex)
    }

    func close() {
        unsafe pthread_mutex_lock(mutex)
        closed = true
        unsafe pthread_cond_broadcast(changed)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Runs what is queued until the queue is closed and empty.
    func work() {
        while let job = take() { job() }
    }

    private func take() -> (@Sendable () -> Void)? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while next == waiting.count {
            if closed { return nil }
            unsafe pthread_cond_wait(changed, mutex)
        }
        let job = waiting[next].take()
        next += 1
        // Moved up seldom enough that each entry is moved once on average.
        if next == waiting.count || (next >= 1024 && next > waiting.count / 2) {
            waiting.removeFirst(next)
            next = 0
        }
        return job
    }
}
