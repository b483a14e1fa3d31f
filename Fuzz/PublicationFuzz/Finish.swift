// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// The value of asynchronous work, waited for: a fuzz target is a function that returns.
func finish<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
    let done = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    unsafe sem_init(done, 0, 0)
    defer {
        unsafe sem_destroy(done)
        unsafe done.deallocate()
    }
    let value = Locked<Value?>(nil)
    let place = UInt(bitPattern: done)
    Task.detached {
        let made = await work()
        value.withLock { $0 = made }
        if let done = unsafe UnsafeMutablePointer<sem_t>(bitPattern: place) { unsafe sem_post(done) }
    }
    while unsafe sem_wait(done) != 0 {}
    guard let made = value.withLock({ $0 }) else { fatalError("work ended without a value") }
    return made
}
