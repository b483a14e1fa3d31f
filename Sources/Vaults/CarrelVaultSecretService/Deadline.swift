// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSecret
import CarrelThreads
import Glibc

/// Ends calls of GLib that take too long: most have no limit of their own, and others wait 25 seconds.
@safe
final class Deadline: @unchecked Sendable {  // GCancellable is safe to share, and the pointer never changes
    let cancellable: UnsafeMutableRawPointer
    private let completion: Int32

    private init() {
        unsafe cancellable = g_cancellable_new()
        completion = clinux_eventfd()
    }

    deinit {
        unsafe g_object_unref(cancellable)
        close(completion)
    }

    /// Runs a call that is cancelled after a time.
    static func limit<Value>(
        _ time: Duration,
        _ call: (UnsafeMutableRawPointer) throws(SecretFailure) -> Value
    ) throws(SecretFailure) -> Value {
        let deadline = Deadline()
        let milliseconds = Int32(clamping: Int64(time / .milliseconds(1)))
        startThread(name: "vault-deadline") {
            var request = pollfd(fd: deadline.completion, events: Int16(POLLIN), revents: 0)
            var ready = unsafe poll(&request, 1, milliseconds)
            while ready < 0, errno == EINTR { ready = unsafe poll(&request, 1, milliseconds) }
            if ready == 0 { unsafe g_cancellable_cancel(deadline.cancellable) }
        }
        defer { clinux_eventfd_signal(deadline.completion) }
        return try unsafe call(deadline.cancellable)
    }
}
