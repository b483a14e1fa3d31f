// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelThreads
import Glibc

/// SIGTERM and SIGINT as something to wait for. A second one ends the process.
struct StopSignals {
    /// From here on the first of them stops the process only through ``wait()``.
    init() {
        clinux_catch_stop()
    }

    /// Returns when the first signal has come.
    ///
    /// - Parameter limit: the longest time from the signal to the end of the process, in milliseconds, whatever its threads do; nil for no
    ///   limit. A process that is ended in this way has status 0.
    func wait(endingWithin limit: UInt32? = nil) async {
        await withCheckedContinuation { continuation in
            startThread(name: "signals") {
                clinux_wait_for_stop()
                continuation.resume()
                guard let limit else { return }
                usleep(limit * 1000)
                _exit(0)
            }
        }
    }
}
