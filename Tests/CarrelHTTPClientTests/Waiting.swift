import CarrelTesting
import Glibc
import Testing

/// Waits up to a minute for what another thread is about to bring about.
func eventually(_ holds: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !holds() {
        guard ContinuousClock.now < deadline else {
            Issue.record("it did not come about within a minute", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

func setEnvironment(_ name: String, _ value: String) {
    unsafe setenv(name, value, 1)
}

extension LoopbackRequest {
    /// Whether this is the body; `#expect` would spell out millions of bytes where they differ.
    func has(_ bytes: some Sequence<UInt8>) -> Bool { body == Array(bytes) }
}
