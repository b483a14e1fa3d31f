// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The three pipes of a child. One thread uses it at a time.
final class Pipes: @unchecked Sendable {  // handed to the child's thread, and not used elsewhere after that
    private(set) var input: Int32 = -1
    private(set) var output: Int32 = -1
    private(set) var errors: Int32 = -1
    private(set) var childEnds: [Int32] = []

    init(name: String) throws(ProcessError) {
        let pairs = [Pipes.pair(), Pipes.pair(), Pipes.pair()]
        guard pairs.allSatisfy({ $0.read >= 0 }) else {
            for pair in pairs where pair.read >= 0 {
                close(pair.read)
                close(pair.write)
            }
            throw ProcessError(.notStarted, "\(name) could not be started: no pipe is to be had")
        }
        childEnds = [pairs[0].read, pairs[1].write, pairs[2].write]
        input = pairs[0].write
        output = pairs[1].read
        errors = pairs[2].read
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
    }

    private static func pair() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        return unsafe clinux_pipe(&ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
    }

    var isOpen: Bool { output >= 0 || errors >= 0 }

    func closeChildEnds() {
        for end in childEnds { close(end) }
        childEnds = []
    }

    func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    func closeOurEnds() {
        closeInput()
        if output >= 0 { close(output) }
        if errors >= 0 { close(errors) }
        output = -1
        errors = -1
    }

    func readOutput() -> [UInt8] { Pipes.read(&output) }

    func readErrors() -> [UInt8] { Pipes.read(&errors) }

    /// Reads the available bytes, up to 64 KiB; closes the descriptor at the end.
    private static func read(_ descriptor: inout Int32) -> [UInt8] {
        var ended = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
            let got = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            count = max(0, got)
            ended = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)
        }
        if ended {
            close(descriptor)
            descriptor = -1
        }
        return bytes
    }

    /// Writes what the pipe accepts; closes it once all is written, or if it has no reader.
    func writeInput(_ bytes: inout ArraySlice<UInt8>) {
        let wrote = unsafe bytes.withUnsafeBytes { unsafe write(input, $0.baseAddress, $0.count) }
        if wrote > 0 { bytes = bytes.dropFirst(wrote) }
        if bytes.isEmpty || (wrote < 0 && errno != EINTR && errno != EAGAIN) { closeInput() }
    }
}

/// Makes a write to a pipe without a reader fail with `EPIPE` in this thread.
func blockSIGPIPE() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
}
