import CarrelMedia
import CarrelThreads

/// Holds requests until a license is there.
final class LicenseGate: Sendable {
    /// Every one of them holds a request, whose number is bounded.
    private let waiting = Locked<[(name: ContentKeyName, resume: @Sendable () -> Void)]>([])

    /// Lets those who wait go on.
    ///
    /// - Parameter name: those who wait for this key; nil for all.
    func open(_ name: ContentKeyName?) {
        let resumed = waiting.withLock { waiting in
            defer { waiting.removeAll { name == nil || $0.name == name } }
            return waiting.filter { name == nil || $0.name == name }
        }
        for waiter in resumed { waiter.resume() }
    }

    /// Waits until the gate opens for a key, or the time is over, or the task is cancelled.
    func wait(for name: ContentKeyName, _ limit: Duration) async {
        let (stream, signal) = AsyncStream<Void>.makeStream()
        waiting.withLock { $0.append((name, { signal.finish() })) }
        let timer = Task {
            try? await Task.sleep(for: limit)
            signal.finish()
        }
        for await _ in stream {}
        timer.cancel()
    }
}
