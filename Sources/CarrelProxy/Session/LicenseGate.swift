import CarrelMedia
import CarrelThreads

/// Holds requests until a license is there.
final class LicenseGate: Sendable {
    /// Every one of them holds a request, whose number is bounded.
    private let waiting = Locked<[UInt64: (name: ContentKeyName, resume: @Sendable () -> Void)]>([:])
    private let count = Locked<UInt64>(0)

    /// Lets those who wait go on.
    ///
    /// - Parameter name: those who wait for this key; nil for all.
    func open(_ name: ContentKeyName?) {
        let resumed = waiting.withLock { waiting in
            waiting.values.filter { name == nil || $0.name == name }
        }
        for waiter in resumed { waiter.resume() }
    }

    /// Waits until the gate opens for a key, or the time is over, or the task is cancelled.
    func wait(for name: ContentKeyName, _ limit: Duration) async {
        let (stream, signal) = AsyncStream<Void>.makeStream()
        let id = count.withLock { count in
            count &+= 1
            return count
        }
        waiting.withLock { $0[id] = (name, { signal.finish() }) }
        defer { waiting.withLock { _ = $0.removeValue(forKey: id) } }
        let timer = Task {
            try? await Task.sleep(for: limit)
            signal.finish()
        }
        for await _ in stream {}
        timer.cancel()
    }
}
