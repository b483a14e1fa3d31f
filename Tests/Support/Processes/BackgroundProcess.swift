// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A program that runs in parallel with the test until it is stopped, released, or the test run dies.
package final class BackgroundProcess: Sendable {
    private let child: ChildProcess

    /// Starts a program in a session of its own. The last MiB of each of its outputs is kept.
    ///
    /// - Parameters:
    ///   - arguments: the program, looked up in PATH, and its arguments.
    ///   - environment: the whole environment; nil means this process's.
    ///   - directory: where it starts; nil means here.
    ///   - input: its standard input.
    /// - Throws: `process.notStarted`.
    package init(
        _ arguments: [String],
        environment: [String: String]? = nil,
        directory: String? = nil,
        input: [UInt8] = []
    ) throws(ProcessError) {
        child = try ChildProcess(
            arguments,
            environment: environment,
            directory: directory,
            input: input,
            limit: 1 << 20,
            keepsTail: true
        )
    }

    deinit {
        child.kill()
    }

    /// The process id, which is also the number of its process group.
    package var processID: Int32 { child.pid }

    /// Standard output so far, its last MiB.
    package var output: String { String(decoding: child.progress.output, as: UTF8.self) }

    /// Standard error so far, its last MiB.
    package var errors: String { String(decoding: child.progress.errors, as: UTF8.self) }

    /// How it ended; nil while it runs.
    package var status: ExitStatus? { child.progress.status }

    /// Waits until it writes a whole line that contains `text`.
    ///
    /// - Parameters:
    ///   - text: what to look for, on standard output and standard error.
    ///   - timeout: how long.
    /// - Returns: the first such line.
    /// - Throws: `process.ended` or `process.timeout`, with the last it wrote.
    package func waitForLine(containing text: String, timeout: Duration = .seconds(20)) async throws(ProcessError) -> String {
        _ = await child.wait(timeout) { line(containing: text, in: $0) != nil }
        if let line = line(containing: text, in: child.progress) { return line }
        throw failure("without a line containing \"\(text)\"", timeout)
    }

    /// Waits until something accepts TCP connections at the port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: of 127.0.0.1.
    ///   - timeout: how long.
    /// - Throws: `process.ended` or `process.timeout`, with the last it wrote.
    package func waitForPort(_ port: UInt16, timeout: Duration = .seconds(20)) async throws(ProcessError) {
        let deadline = ContinuousClock.now + timeout
        while !LoopbackPort.accepts(port) {
            if status != nil || deadline <= .now || Task.isCancelled { throw failure("without serving port \(port)", timeout) }
            _ = await child.wait(.milliseconds(20)) { _ in false }
        }
    }

    /// Waits until it ends.
    ///
    /// - Parameter timeout: how long.
    /// - Returns: how it ended.
    /// - Throws: `process.timeout`, with the last it wrote.
    @discardableResult
    package func waitForExit(timeout: Duration = .seconds(20)) async throws(ProcessError) -> ExitStatus {
        _ = await child.wait(timeout) { _ in false }
        guard let status else { throw failure("and did not end", timeout) }
        return status
    }

    /// Sends a signal to it and its process group.
    package func signal(_ number: Int32) {
        child.signal(number)
    }

    /// Asks it to end (SIGTERM), then kills it (SIGKILL) when it has not within `grace`.
    @discardableResult
    package func terminate(grace: Duration = .seconds(10)) async -> ExitStatus? {
        child.signal(SIGTERM)
        _ = await child.wait(grace) { _ in false }
        return await kill()
    }

    /// Ends it with SIGKILL and waits until it is gone.
    @discardableResult
    package func kill() async -> ExitStatus? {
        child.kill()
        await child.waitForEnd()
        return status
    }

    private func failure(_ what: String, _ timeout: Duration) -> ProcessError {
        if Task.isCancelled { return ProcessError(.cancelled, "waiting for \(child.name) was cancelled") }
        if let status { return ProcessError(.ended, "\(child.name) ended with \(status) \(what)\(child.lastWords)") }
        return ProcessError(.timeout, "\(child.name) ran for \(timeout) \(what)\(child.lastWords)")
    }
}

private func line(containing text: String, in progress: ChildProcess.Progress) -> String? {
    for stream in [progress.output, progress.errors] {
        guard let end = stream.lastIndex(of: UInt8(ascii: "\n")) else { continue }
        for line in stream[..<end].split(separator: UInt8(ascii: "\n")) {
            let line = String(decoding: line, as: UTF8.self)
            if line.contains(text) { return line }
        }
    }
    return nil
}

extension ChildProcess {
    func kill() {
        signal(SIGKILL)
    }

    /// Waits, without regard to cancellation, until it is reaped.
    func waitForEnd() async {
        while progress.status == nil {
            await Task.detached { [self] in _ = await wait(.seconds(5)) { $0.status != nil } }.value
        }
    }

    /// The end of its standard error (or output), for a message.
    var lastWords: String {
        let progress = progress
        let bytes = progress.errors.isEmpty ? progress.output : progress.errors
        return bytes.isEmpty ? "" : ": " + String(decoding: bytes.suffix(2000), as: UTF8.self)
    }
}
