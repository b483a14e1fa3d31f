// SPDX-License-Identifier: Apache-2.0

public import Glibc

/// A value that one thread at a time may touch.
///
/// Over a pthread mutex, because `Synchronization.Mutex` gives ThreadSanitizer false alarms on Linux.
@safe
public final class Locked<Value: ~Copyable>: @unchecked Sendable {  // every access to `value` holds `mutex`
    @usableFromInline var value: Value
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: consuming sending Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the value, alone. Not reentrant; never hold it across a blocking call or an `await`.
    @inlinable
    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
