// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// Writes lines to a descriptor from a dedicated thread: a reader that stops reading does not stop the server. Lines that do not
/// fit into the buffer are dropped and counted.
///
/// The thread writes the lines of some milliseconds together, to save a system call and a thread wake-up per line.
final class LineWriter: Sendable {
    private struct State {
        var lines: [UInt8] = []
        /// Lines dropped since the last written one.
        var dropped = 0
        /// Lines left out in all.
        var lost = 0
        var isWriting = false
    }

    private let descriptor: Int32
    /// Bytes that wait at most.
    private let room: Int
    private let state = Locked(State())
    private let thread: BlockingThreadPool

    /// Microseconds for which lines come together.
    private static let gathering: useconds_t = 20_000

    init(name: String, to descriptor: Int32 = STDERR_FILENO, room: Int = 4 << 20) {
        self.descriptor = descriptor
        self.room = room
        thread = BlockingThreadPool(name: name, count: 1)
    }

    /// Lines that were left out so far.
    var lost: Int { state.withLock { $0.lost } }

    /// Appends a line, which `write` appends without its line feed. Never waits for the reader.
    func append(_ write: (inout [UInt8]) -> Void) {
        let mustStart = state.withLock { state in
            guard state.lines.count < room else {
                state.dropped += 1
                state.lost += 1
                return false
            }
            if state.dropped > 0 {
                state.lines += "{\"dropped\":\(state.dropped)}\n".utf8
                state.dropped = 0
            }
            write(&state.lines)
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

    /// Returns when the lines so far are written.
    func flush() async {
        try? await thread.run {}
    }

    private func drain() {
        var spare: [UInt8] = []
        while true {
            usleep(Self.gathering)
            spare.removeAll(keepingCapacity: true)
            let isOver = state.withLock { state in
                swap(&state.lines, &spare)
                state.isWriting = !spare.isEmpty
                return spare.isEmpty
            }
            if isOver { return }
            unsafe spare.withUnsafeBytes { bytes in
                var rest = unsafe bytes[...]
                while unsafe !rest.isEmpty {
                    let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }  // the reader has gone
                    unsafe rest = rest.dropFirst(count)
                }
            }
        }
    }
}
