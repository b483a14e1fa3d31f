import CLinux
import CarrelThreads

/// SIGTERM and SIGINT as something to wait for. A second one ends the process.
struct StopSignals {
    /// From here on the first of them stops the process only through ``wait()``.
    init() {
        clinux_catch_stop()
    }

    /// Returns when the first signal has come.
    func wait() async {
        await withCheckedContinuation { continuation in
            startThread(name: "signals") {
                clinux_wait_for_stop()
                continuation.resume()
            }
        }
    }
}
