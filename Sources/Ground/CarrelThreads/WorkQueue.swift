// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Work that waits for threads, in order and bounded.
@safe
final class WorkQueue: @unchecked Sendable {  // every access to the stored values holds `mutex`
    let name: String
    private let limit: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// The work that waits, by its number.
    private var jobs: [Int: @Sendable () -> Void] = [:]
    /// The number of the next work to start; smaller than `last` or equal.
    private var next = 0
    /// The number of the next work to come.
    private var last = 0
    private var refusalCount = 0
    private var isClosed = false

    init(name: String, limit: Int) {
        self.name = name
        self.limit = limit
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    var counts: QueueCounts {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return QueueCounts(name: name, waiting: jobs.count, refused: refusalCount)
    }

    /// Adds work at the end.
    ///
    /// - Returns: its number, or nil if the queue is full.
    func add(_ work: @escaping @Sendable () -> Void) -> Int? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        guard jobs.count < limit else {
            refusalCount += 1
            return nil
        }
        jobs[last] = work
        last += 1
        unsafe pthread_cond_signal(condition)
        return last - 1
    }

    /// Removes work that no thread has taken yet.
    ///
    /// - Returns: false if a thread took it before, or it was removed before.
    func remove(_ number: Int) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return jobs.removeValue(forKey: number) != nil
    }

    func countRefusal() {
        unsafe pthread_mutex_lock(mutex)
        refusalCount += 1
        unsafe pthread_mutex_unlock(mutex)
    }

    func close() {
        unsafe pthread_mutex_lock(mutex)
        isClosed = true
        unsafe pthread_cond_broadcast(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Runs queued work until the queue is closed and empty.
    func work() {
        while let job = take() { job() }
    }

    private func take() -> (@Sendable () -> Void)? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while jobs.isEmpty {
            next = last
            if isClosed { return nil }
            unsafe pthread_cond_wait(condition, mutex)
        }
        while true {
            defer { next += 1 }
            if let job = jobs.removeValue(forKey: next) { return job }
        }
    }
}
