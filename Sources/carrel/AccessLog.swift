import CarrelHTTPServer
import CarrelThreads
import Glibc

/// Requests on standard error, a line of JSON each, from a thread of its own: a reader of the log that stops reading does not stop
/// the server. What it has no room for is left out and counted.
final class AccessLog: Sendable {
    private struct State {
        var lines: [UInt8] = []
        var dropped = 0
        var isWriting = false
    }

    /// Bytes that wait at most.
    private static let room = 4 << 20

    private let state = Locked(State())
    private let thread = BlockingThreads(name: "access-log", count: 1)

    @Sendable func write(_ record: AccessRecord) {
        let line = record.json
        let mustStart = state.withLock { state in
            guard state.lines.count + line.utf8.count < Self.room else {
                state.dropped += 1
                return false
            }
            if state.dropped > 0 {
                state.lines += "{\"dropped\":\(state.dropped)}\n".utf8
                state.dropped = 0
            }
            state.lines += line.utf8
            state.lines.append(UInt8(ascii: "\n"))
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard mustStart else { return }
        do throws(QueueFull) {
            try thread.start { self.drain() }
        } catch {
            state.withLock { $0.isWriting = false }
        }
    }

    /// Returns when what was noted so far is written.
    func flush() async {
        try? await thread.run {}
    }

    private func drain() {
        while true {
            let lines = state.withLock { state in
                defer { state.lines = [] }
                state.isWriting = !state.lines.isEmpty
                return state.lines
            }
            if lines.isEmpty { return }
            unsafe lines.withUnsafeBytes { bytes in
                var rest = unsafe bytes[...]
                while unsafe !rest.isEmpty {
                    let count = unsafe Glibc.write(STDERR_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }  // nobody reads any more
                    unsafe rest = rest.dropFirst(count)
                }
            }
        }
    }
}
